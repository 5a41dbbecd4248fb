// SPDX-License-Identifier: Apache-2.0
// For tests: the stand-in of TensorRT, and modules compiled for it.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>

#include "backends/tensorrt/tensorrt.h"
#include "backends/testing/graph_case.h"

namespace tessera::backends::tensorrt::testing {

// Found as the real one would be, by the compiler and by models.
struct StandIn {
  StandIn() {
    const char* given = std::getenv("FAKE_TENSORRT_MAJOR");
    major = given == nullptr ? "10" : given;
    root = TESSERA_FAKE_TENSORRT_FOLDER "/" + major;
    version = major == "8" ? "8.6.1" : major == "10" ? "10.3.0" : "11.0.0";
    number = major == "8" ? "8601" : major == "10" ? "100300" : "110000";
    file = "libnvinfer.so." + major;
    ::setenv("TENSORRT_ROOT", root.c_str(), 1);
    ::setenv("TESSERA_LIBRARY_PATH", (root + "/lib").c_str(), 1);
  }
  std::string major, root, version, number, file;
};
// A setting of the environment for a while.
struct Setting {
  Setting(const char* name, const char* value) : name(name) { ::setenv(name, value, 1); }
  ~Setting() { ::unsetenv(name); }
  const char* name;
};

// `made`: what engines are looked for and kept in, if that is done.
inline byoc::PartitionOutcome compiled(const Module& module,
                                       const Target& target = Target("tensorrt"),
                                       byoc::MadeParts* made = nullptr) {
  const byoc::BackendChoice choices[] = {{&tensorrt_backend(), target}};
  return backends::testing::compile_graph(module, choices, made);
}

inline Module module_of(const std::string& body, const std::string& dtype = "float32") {
  return backends::testing::parse_graph(
      fmt::format("\ndef @main(%x: Tensor[(4, 6), {}]) {{\n{}\n}}", dtype, body));
}

inline std::string engine_of(const Module& module, const Target& target = Target("tensorrt"),
                             byoc::MadeParts* made = nullptr) {
  return compiled(module, target, made).module.artifacts.front().payload;
}

inline std::string thrown_by(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

}  // namespace tessera::backends::tensorrt::testing
