// SPDX-License-Identifier: Apache-2.0
// For tests: the stand-in of cublasLt, found as the real one would be, and a device for it whose
// memory is the host's and whose clock is the stand-in's.
#pragma once

#include <cstdlib>

#include <dlfcn.h>

#include "backends/cublas/library.h"
#include "contest/testing/fake_device.h"

namespace tessera::backends::cublas::testing {

// Before the library is looked for.
inline const int is_named = ::setenv("TESSERA_LIBRARY_PATH", TESSERA_FAKE_CUBLASLT_FOLDER, 1);

// A setting of the environment for a while.
struct Setting {
  Setting(const char* name, const char* value) : name(name) { ::setenv(name, value, 1); }
  ~Setting() { ::unsetenv(name); }
  const char* name;
};

template <class F>
F* fake_function(const char* name) {
  void* library = dlopen(found_library().path.c_str(), RTLD_NOW);
  return reinterpret_cast<F*>(dlsym(library, name));
}

inline const tessera_device_api& fake_device() {
  return contest::testing::fake_device(found_library().path, "fake_cublaslt");
}

}  // namespace tessera::backends::cublas::testing
