// SPDX-License-Identifier: Apache-2.0
// For tests: the stand-in of cuDNN, found as the real one would be.
#pragma once

#include <cstdlib>

#include "backends/cudnn/compiler/library.h"
#include "contest/testing/fake_device.h"

namespace tessera::backends::cudnn::testing {

// Before the library is looked for: a variable of each source that needs it.
struct FakeLibrary {
  explicit FakeLibrary(const char* folder) { ::setenv("TESSERA_LIBRARY_PATH", folder, 1); }
};

// A setting of the environment for a while.
struct Setting {
  Setting(const char* name, const char* value) : name(name) { ::setenv(name, value, 1); }
  ~Setting() { ::unsetenv(name); }
  const char* name;
};

// The stand-in's device, for measuring.
inline const tessera_device_api& fake_device() {
  return contest::testing::fake_device(library_path(), "fake_cudnn");
}

}  // namespace tessera::backends::cudnn::testing
