// SPDX-License-Identifier: Apache-2.0
// Libraries as programs in Python meet them: through ctypes, and through the package of python/,
// which has tests of its own.
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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
  run_python({TESSERA_SOURCE_DIR "/tests/e2e/python_client.py", TESSERA_SOURCE_DIR "/tests/abi",
              command.file("m.so")});
}

TEST(Python, AsksForWhatItIsAskedFor) {
  run_python({TESSERA_SOURCE_DIR "/tests/e2e/fake_model_client.py", TESSERA_SOURCE_DIR "/tests/abi",
              "ctypes_model", TESSERA_FAKE_MODEL});
#ifdef TESSERA_PYTHON_PACKAGE
  run_python({TESSERA_SOURCE_DIR "/tests/e2e/fake_model_client.py", TESSERA_PYTHON_PACKAGE,
              "tessera", TESSERA_FAKE_MODEL});
#endif
}

// What happens, for programs that start the command.
TEST(Compile, TellsOfEvents) {
  import::TestModel m;
  m.input("x", {4});
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  Command command;
  command.share_cache();
  const auto events = [&](const std::string& model, const std::string& option) {
    const ProcessResult ran = command.run({"compile", model, "-o", "m.so", "--events", option});
    EXPECT_EQ(ran.err, "");
    std::vector<nlohmann::json> lines;
    std::istringstream text(ran.out);
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  };
  const std::vector<nlohmann::json> good = events(m.write(), "--partition=none");
  ASSERT_GT(good.size(), 3u);
  EXPECT_EQ(good.front()["event"], "stage");
  EXPECT_EQ(good.front()["name"], "import");
  EXPECT_EQ(good.back()["event"], "report");
  EXPECT_GT(good.back()["library_bytes"], 0);
  const std::vector<nlohmann::json> bad = events("nowhere.onnx", "--partition=none");
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_EQ(bad[0]["event"], "diagnostic");
  EXPECT_EQ(bad[0]["severity"], "error");
  EXPECT_EQ(bad[0]["code"], "E0101");
  EXPECT_EQ(bad[0]["remedy"], "check the path");
  EXPECT_EQ(events(m.write(), "--require=abacus")[0]["code"], "E0404");
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
