// SPDX-License-Identifier: Apache-2.0
// Libraries as programs in Python meet them, through python/tessera.py.
#include <gtest/gtest.h>

#include "command.h"
#include "import/testing/model.h"

namespace tessera::e2e {
namespace {

TEST(Python, SaysWhatALibrarySays) {
  import::TestModel m;
  m.input("x", {4, 8});
  m.floats("w", {8, 16}, std::vector<float>(128, 0.5F));
  std::vector<float> identity(64, 0);
  for (std::size_t i = 0; i < 4; ++i) identity[i * 4 + i] = 1;
  m.floats("v", {16, 4}, identity);
  m.node("MatMul", {"x", "w"}, {"h"});
  m.node("MatMul", {"h", "v"}, {"y"});
  m.output("y");
  Command command;
  command.share_cache();
  const ProcessResult made = command.run(
      {"compile", m.write(), "-o", "m.so", "--partition", "none", "--keep-weights", "w"});
  ASSERT_TRUE(made.ok()) << made.err;
  run_python({TESSERA_SOURCE_DIR "/tests/e2e/python_client.py", TESSERA_SOURCE_DIR "/python",
              command.file("m.so")});
}

TEST(Python, AsksForWhatItIsAskedFor) {
  run_python({TESSERA_SOURCE_DIR "/tests/e2e/fake_model_client.py", TESSERA_SOURCE_DIR "/python",
              TESSERA_FAKE_MODEL});
}

TEST(Bench, CanLeaveReplayAway) {
  const Command command;
  const auto said = [&](const std::string& option) {
    return command.run({"bench", TESSERA_FAKE_MODEL, "--threads", "3", option}).err;
  };
  EXPECT_NE(said("--json").find("asked for 3 threads, replay on"), std::string::npos);
  EXPECT_NE(said("--no-replay").find("asked for 3 threads, replay off"), std::string::npos);
}

}  // namespace
}  // namespace tessera::e2e
