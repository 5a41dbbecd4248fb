// SPDX-License-Identifier: Apache-2.0
// A back end whose compiler fails: its regions go to the next one, and the report says so.
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "command.h"
#include "support/files.h"

namespace tessera::e2e {
namespace {

using Json = nlohmann::json;

constexpr const char* kFailingModel = R"(#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = nn.relu(%x);
  %1 = add(%0, %x);
  tanh(%1)
}
)";

const std::vector<std::string> kCompile = {"compile",
                                           "model.relay",
                                           "-o",
                                           "model.so",
                                           "--json",
                                           "--target",
                                           "cpu",
                                           "--target",
                                           "ccompiler -header=#error",
                                           "--target",
                                           "example_target_hook"};

TEST(FailingBackEnd, ItsRegionsGoToTheNext) {
  Command command;
  command.write("model.relay", kFailingModel);
  const ProcessResult result = command.run(kCompile);
  ASSERT_TRUE(result.ok()) << result.err;
  EXPECT_NE(result.err.find("model.relay:3:8: warning[E0501]: back end `ccompiler` cannot compile "
                            "`ccompiler_main_0`"),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("#error"), std::string::npos) << result.err;
  int taken_over = 0;
  const Json report = Json::parse(result.out);
  for (const Json& row : report["placement"]) {
    EXPECT_NE(row["backend"], "ccompiler");
    if (row["backend"] != "example_target_hook") continue;
    EXPECT_NE(row["reason"].get<std::string>().find("ccompiler"), std::string::npos);
    ++taken_over;
  }
  EXPECT_EQ(taken_over, 2);
  EXPECT_TRUE(command.run({"run", "model.so"}).ok());
}

TEST(FailingBackEnd, TheSourceIsKept) {
  Command command;
  command.write("model.relay", kFailingModel);
  const std::string said = command.run(kCompile).err;
  const std::string before = "is kept in `";
  const std::size_t begin = said.find(before) + before.size();
  ASSERT_NE(said.find(before), std::string::npos) << said;
  const auto source =
      read_file(said.substr(begin, said.find('`', begin) - begin) + "/ccompiler.cc");
  ASSERT_TRUE(source);
  EXPECT_NE(source->find("ccompiler_main_0"), std::string::npos) << *source;
}

TEST(FailingBackEnd, StrictIsAnError) {
  Command command;
  command.write("model.relay", kFailingModel);
  std::vector<std::string> strict = kCompile;
  strict.emplace_back("--strict");
  const ProcessResult result = command.run(strict);
  EXPECT_FALSE(result.ok());
  EXPECT_NE(result.err.find("error[E0501]: back end `ccompiler` cannot compile `ccompiler_main_0`"),
            std::string::npos)
      << result.err;
}

// What another run would compile is not left to the next one.
TEST(FailingBackEnd, AFailingMachineIsAnError) {
  Command command;
  command.write("model.relay", kFailingModel);
  const std::string script =
      command.write("cxx",
                    "#!/bin/sh\ncase \"$*\" in *ccompiler*) echo 'error: No space left on device' "
                    ">&2; exit 1;; esac\nexec g++ \"$@\"\n");
  std::filesystem::permissions(script, std::filesystem::perms::all);
  command.set("CXX", script);
  const ProcessResult result = command.run(
      {"compile", "model.relay", "-o", "model.so", "--target", "cpu", "--target", "ccompiler"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_NE(result.err.find("error[E0105]"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("No space left on device"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(command.file("model.so")));
}

}  // namespace
}  // namespace tessera::e2e
