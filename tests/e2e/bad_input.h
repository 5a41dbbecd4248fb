// SPDX-License-Identifier: Apache-2.0
// What users get wrong: each has a code, a place, a remedy and exit status 1, and leaves nothing
// half-written.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "command.h"
#include "constants/npy.h"
#include "support/files.h"

namespace tessera::e2e {

namespace fs = std::filesystem;

// Folder with the models of bad_models.py, made once a process.
inline const std::string& bad_models() {
  static const Command maker;
  static const std::string folder = [] {
    run_python({TESSERA_SOURCE_DIR "/tests/e2e/bad_models.py", maker.folder()});
    return maker.folder();
  }();
  return folder;
}

inline std::string model(const std::string& name) { return bad_models() + "/" + name + ".onnx"; }

// One error at least, and what each must say.
inline void expect_error(const ProcessResult& result, const std::string& code,
                         const std::vector<std::string>& parts) {
  EXPECT_EQ(result.exit_status, 1) << result.outcome() << "\n" << result.err;
  EXPECT_TRUE(result.err.starts_with("error[" + code + "]: ")) << result.err;
  for (const std::string& part : parts) {
    EXPECT_NE(result.err.find(part), std::string::npos) << part << "\nis not in\n" << result.err;
  }
}

class BadInput : public ::testing::Test {
 protected:
  BadInput() {
    command_.share_cache();
    fs::create_directories(command_.file("out"));
  }

  void expect_nothing_written() const {
    EXPECT_EQ(names_in(command_.file("out")), std::vector<std::string>{});
    EXPECT_EQ(names_in(command_.file("tmp")), std::vector<std::string>{});
  }
  ProcessResult compile(const std::string& path) {
    return command_.run({"compile", path, "-o", "out/m.so"});
  }
  // The sound model as a library.
  std::string library() {
    const ProcessResult result =
        command_.run({"compile", model("sound"), "-o", "sound.so", "--partition", "none"});
    EXPECT_TRUE(result.ok()) << result.err;
    return command_.file("sound.so");
  }
  // A folder with input `name` of this type.
  std::string input(const std::string& name, const Tensor& tensor) {
    fs::create_directories(command_.file("in"));
    EXPECT_TRUE(write_npy(command_.file("in/" + name + ".npy"), tensor));
    return command_.file("in");
  }

  Command command_;
};

}  // namespace tessera::e2e
