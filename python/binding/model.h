// SPDX-License-Identifier: Apache-2.0
// A model of a library, and its instances, of which each serves one thread at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "inputs.h"
#include "model_library/library.h"

namespace tessera::python {

using model_library::CallFailed;
using model_library::Interface;
using model_library::Library;

struct InstanceOptions {
  int threads = 0;
  bool replay = true;
  int nice = 0;
  std::vector<std::int32_t> cpus;
  int instances = 1;  // at most
};

class Model {
 public:
  // Throws CallFailed, as all functions do.
  Model(const std::string& path, InstanceOptions options);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model();

  nanobind::list describe(const std::string& what) const;
  const Interface& call() const { return library_.call(); }

  // These need all instances: none may be running.
  tessera_memory memory();
  void profile(bool on);
  std::vector<tessera_profile_entry> profile_entries();
  void set_weight(const std::string& name, nanobind::handle value);
  void synchronize();
  void close();

 private:
  friend class Call;
  friend class Loan;
  std::unique_lock<std::mutex> when_idle();
  tessera_instance* new_instance();
  tessera_instance* take();
  void wait_for_one();
  void give(tessera_instance* instance);
  void read_ports();

  Library library_;
  InstanceOptions options_;
  tessera_model* model_ = nullptr;
  std::vector<tessera_io> inputs_, outputs_;
  std::vector<Copies> copies_;                           // of each input: told of once
  std::vector<std::vector<std::int64_t>> fixed_shapes_;  // of the outputs, where all are known

  // Nobody who holds it asks for the interpreter's lock, or makes an object, which may: whoever has
  // that lock takes the mutex.
  std::mutex mutex_;
  std::condition_variable given_;
  std::vector<tessera_instance*> free_, all_;
  int being_made_ = 0;
  bool is_profiled_ = false, is_closed_ = false;
};

// An instance for one run; waits for one where all are running.
class Loan {
 public:
  explicit Loan(Model& model) : model_(model), instance_(model.take()) {}
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  ~Loan() { model_.give(instance_); }
  tessera_instance* get() const { return instance_; }

 private:
  Model& model_;
  tessera_instance* instance_;
};

}  // namespace tessera::python
