// SPDX-License-Identifier: Apache-2.0
// cublasLt in the compiler's own process: found, and asked for its version, which needs no device.
#pragma once

#include <string>

#include "backends/cublas/runtime/call_site.h"

namespace tessera::backends::cublas {

struct FoundLibrary {
  std::string path;
  std::string lack;  // what there is not, where it cannot be used
  Api api = {};
  std::size_t version = 0;
};
// Looked for once a process.
const FoundLibrary& found_library();

// With a handle, for which the process needs a device. Throws.
class OpenedLibrary {
 public:
  OpenedLibrary();
  OpenedLibrary(const OpenedLibrary&) = delete;
  OpenedLibrary& operator=(const OpenedLibrary&) = delete;
  ~OpenedLibrary();
  const Library& get() const { return library_; }

 private:
  Library library_;
};

// The version of records: what configurations mean, and the library's.
std::string record_version();

}  // namespace tessera::backends::cublas
