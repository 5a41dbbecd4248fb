// SPDX-License-Identifier: Apache-2.0
// What tests of whole compilations share.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "diagnostics/diagnostic.h"
#include "driver/options.h"
#include "support/files.h"

namespace tessera::driver::testing {

template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(render(result.error()));
  return *std::move(result);
}

// A folder for models and libraries, with an object cache of its own in it.
class ModelTest : public ::testing::Test {
 protected:
  ModelTest() : folder_(*TempDir::make("tessera-driver-test")) {
    ::setenv("TESSERA_ROOT", TESSERA_BUILD_DIR, 1);  // the command finds it by where it lies
    ::setenv("TESSERA_CACHE_DIR", folder_.file("cache").c_str(), 1);
  }

  // The text, without its first line, as a model file, and options to compile it to native code.
  CompileOptions options(const std::string& text) {
    CompileOptions o;
    o.model = folder_.file("m.relay");
    o.output = folder_.file("m.so");
    o.targets = {Target()};
    o.jobs = 1;
    EXPECT_TRUE(write_atomically(o.model, "#[version = \"0.0.5\"]\n" + text));
    return o;
  }

  // A process keeps a library that it has opened: under its name there is no other one.
  std::string new_library() { return folder_.file("m" + std::to_string(++num_libraries_) + ".so"); }

  TempDir folder_;

 private:
  int num_libraries_ = 0;
};

}  // namespace tessera::driver::testing
