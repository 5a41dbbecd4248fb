// SPDX-License-Identifier: Apache-2.0
// What the README shows is typed in as it stands there.
#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "command.h"

namespace tessera::e2e {
namespace {

using Json = nlohmann::json;

// The indented lines of a section.
std::string commands_of(const std::string& heading) {
  const std::string text = *read_file(TESSERA_SOURCE_DIR "/README.md");
  const std::size_t begin = text.find("\n## " + heading + "\n") + 1;
  std::istringstream section(text.substr(begin, text.find("\n## ", begin) - begin));
  std::string commands;
  for (std::string line; std::getline(section, line);) {
    if (line.starts_with("    ")) commands += line + "\n";
  }
  return commands;
}

constexpr const char* kReadmeModel = R"(#[version = "0.0.5"]
def @main(%x: Tensor[(2, 8), float32]) {
  %0 = sigmoid(%x);
  %1 = multiply(%x, %0);
  nn.relu(%1)
}
)";

TEST(Readme, ThePatternsOfAUserStayComposites) {
  Command command;
  command.write("model.relay", kReadmeModel);
  std::filesystem::create_directories(command.file("build"));
  std::filesystem::create_symlink(TESSERA_BUILD_DIR "/bin/tessera", command.file("build/tessera"));
  const std::string commands = commands_of("Bring your own code generator");
  ASSERT_NE(commands.find("ccompiler.gated"), std::string::npos) << commands;
  const ProcessResult result = command.run_program({"sh", "-e", "-c", commands});
  ASSERT_TRUE(result.ok()) << result.err;
  EXPECT_EQ(result.err, "");

  const ProcessResult strict =
      command.run({"compile", "placed.relay", "-o", "strict.so", "--strict", "--verify", "--json"});
  ASSERT_TRUE(strict.ok()) << strict.err;
  const Json placement = Json::parse(strict.out)["placement"];
  ASSERT_EQ(placement.size(), 2u) << placement;
  EXPECT_EQ(placement[0]["backend"], "ccompiler");
  EXPECT_EQ(placement[0]["operators"], (Json{"sigmoid", "multiply"}));
  for (const Json& row : placement) EXPECT_FALSE(row.contains("reason")) << row;
}

}  // namespace
}  // namespace tessera::e2e
