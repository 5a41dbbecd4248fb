// SPDX-License-Identifier: Apache-2.0
// A model ready to run: a library that was loaded, or a program in this process
// (exec/in_process.h), behind the one C interface of include/tessera/model.h.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "constants/tensor.h"
#include "diagnostics/diagnostic.h"
#include "runtime/program.h"
#include "tessera/model.h"

namespace tessera::exec {

struct SessionOptions {
  int threads = 0;  // 0: as many as the process may use CPUs
  bool profile = false;
  bool replay = true;     // false: runs on a device are never recorded and replayed
  int repeats = 1;        // computations of a run on a device, in a row
  int weight_copies = 1;  // so many of them in a row each read weights of their own
  // For time alone: tensors that are bound do not change and are sent to a device once, and what
  // run_bound computes there stays there.
  bool stay_on_device = false;
};

struct PortInfo {
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;  // -1: not known before the run
  std::vector<int> shares = {};     // of an output: the inputs in whose memory it may lie
};

struct KernelTime {
  std::string kernel, backend;
  std::uint64_t calls = 0, total_ns = 0, min_ns = 0, last_start_ns = 0, last_ns = 0;
  std::string note = {};  // what its back end has to say; "": nothing
};

// What an instance on a device takes, in bytes; pinned: of the host, for copies from and to it.
struct DeviceMemory {
  std::uint64_t constants = 0, pools = 0, other = 0, pinned = 0;
};

// What a device can do at most, a second.
struct DeviceRates {
  double bytes = 0, float32_flops = 0, float16_flops = 0;
};

// The functions of model.h, from a library or from the runtime that is linked into this process.
struct ModelApi;

class Session {
 public:
  // Loads a library that `tessera compile` made and creates one instance. `create` is the function
  // that creates its model.
  static Result<std::unique_ptr<Session>> open_library(
      const std::string& path, const SessionOptions& options,
      const std::string& create = "tessera_model_create");
  // The same for a program in memory; `keep_alive` owns it. `folders` are searched for vendor
  // libraries where nothing else has them.
  static Result<std::unique_ptr<Session>> open_program(const tessera_program& program,
                                                       std::shared_ptr<const void> keep_alive,
                                                       const std::vector<std::string>& folders,
                                                       std::string metadata,
                                                       const SessionOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::vector<PortInfo>& inputs() const { return inputs_; }
  const std::vector<PortInfo>& outputs() const { return outputs_; }
  // Gives one of weights(), which were kept, another value from now on.
  const std::vector<PortInfo>& weights() const { return weights_; }
  Result<void> set_weight(const std::string& name, const Tensor& value);
  int threads() const { return threads_; }            // of the instance
  std::uint64_t load_us() const { return load_us_; }  // model and instance creation
  // As tessera_metadata_json.
  const std::string& metadata() const { return metadata_; }

  // One run; inputs in the model's order. The results are copies.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs);
  // The same with outputs in the memory of copies of inputs, each output in that of the input which
  // stands in its place, or in the instance's own.
  static constexpr int kOwnMemory = -1;
  Result<std::vector<Tensor>> run_in_place(std::span<const Tensor> inputs,
                                           std::span<const int> input_of_output);
  // Many runs without copies: binds once, then each call is one tessera_instance_run.
  Result<void> bind(std::span<const Tensor> inputs);
  Result<void> run_bound();
  Result<std::uint64_t> device_ns();  // of the latest run on a device other than the CPU, else 0
  // What the instance has by now; nothing on a CPU, and for libraries that do not tell.
  std::optional<DeviceMemory> device_memory() const;
  // Measured now; nothing on a CPU, and for libraries that cannot.
  Result<std::optional<DeviceRates>> device_rates();
  Result<void> profile(bool on);  // switches measuring on (figures to zero) or off
  std::vector<KernelTime> kernel_times() const;

 private:
  Session();
  Result<void> start(const SessionOptions& options);
  Result<void> status(int code) const;
  Result<void> run_tensors();

  std::unique_ptr<ModelApi> api_;
  std::shared_ptr<const void> owner_;  // the loaded library, or the program in memory
  tessera_model* model_ = nullptr;
  tessera_instance* instance_ = nullptr;
  std::string metadata_;
  std::vector<PortInfo> inputs_, outputs_, weights_;
  std::vector<Tensor> bound_;
  std::vector<tessera_tensor> bound_tensors_;
  std::vector<tessera_tensor> out_tensors_;
  int threads_ = 0;
  bool stay_on_device_ = false;
  std::uint64_t load_us_ = 0;
};

// Seeded values for inputs that nobody gave: floats are normal, integers and bools 0 or 1. Sizes
// that are not known count as 1.
Tensor random_input(const PortInfo& port, std::uint64_t seed);

}  // namespace tessera::exec
