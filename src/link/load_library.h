// SPDX-License-Identifier: Apache-2.0
// A library that lives in memory only: kernels that this process is about to call.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "diagnostics/diagnostic.h"

namespace tessera::link {

class LoadedLibrary {
 public:
  // Loads the bytes of a shared library, such as link_image gives.
  static Result<std::shared_ptr<LoadedLibrary>> load(std::string_view image);
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;
  ~LoadedLibrary();

  // An exported symbol, or null.
  void* symbol(const char* name) const;

 private:
  explicit LoadedLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace tessera::link
