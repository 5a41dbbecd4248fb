// SPDX-License-Identifier: Apache-2.0
// A library that `tessera compile` made, opened: the C interface by its names.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "tessera/model.h"

namespace tessera::model_library {

// A call failed: a status of the C interface, and the sentence that belongs to it.
struct CallFailed : std::runtime_error {
  CallFailed(std::int32_t its_status, const std::string& sentence)
      : std::runtime_error(sentence), status(its_status) {}
  std::int32_t status;
};

// The functions of model.h; those that libraries of older compilers lack may be null.
struct Interface {
#define FUNCTION(name, is_needed) decltype(&tessera_##name) name = nullptr;
#include "model_library/functions.def"
#undef FUNCTION
};

// Closes the library when it goes: nothing of it may be in use then.
class Library {
 public:
  // Throws CallFailed where it is no such library. The path is absolute.
  explicit Library(const std::string& path);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  const Interface& call() const { return call_; }
  // Throws what the calling thread's last failure was, if this is one.
  void check(std::int32_t status) const;

 private:
  void* handle_ = nullptr;
  Interface call_;
};

}  // namespace tessera::model_library
