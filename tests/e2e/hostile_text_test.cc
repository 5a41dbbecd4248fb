// SPDX-License-Identifier: Apache-2.0
// Names of files and of what models hold, on their way to terminals and to other programs.
#include <filesystem>

#include <gtest/gtest.h>

#include "command.h"
#include "support/visible_text.h"

namespace tessera::e2e {
namespace {

// An input and a function whose names move the cursor; the compiler of the function is not there.
constexpr const char* kHostile = R"(#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32], output_names=["\x1b[2Jy\xe2\x80\xae"]) {
  @"f\x1b[31m\n\x9b"(%x)
}
def @"f\x1b[31m\n\x9b"(%y: Tensor[(4), float32], Compiler="no\x1b]0;t\x07", Primitive=1, global_symbol="g\r") {
  add(%y, %y)
}
)";

class HostileText : public ::testing::Test {
 protected:
  ProcessResult run(std::vector<std::string> arguments) {
    const ProcessResult result = command_.run(std::move(arguments));
    for (const std::string* text : {&result.out, &result.err}) {
      EXPECT_EQ(visible_lines(*text), *text);
    }
    return result;
  }
  Command command_;
};

TEST_F(HostileText, ReachesNoTerminal) {
  command_.write("m.relay", kHostile);
  const ProcessResult compiled = run({"compile", "m.relay", "-o", "m.so", "--partition", "none"});
  EXPECT_EQ(compiled.exit_status, 0) << compiled.err;
  EXPECT_NE(compiled.err.find(R"(`@f\x1b[31m\x0a)"), std::string::npos) << compiled.err;
  const std::vector<std::vector<std::string>> uses = {
      {"inspect", "m.so"},
      {"inspect", "m.so", "--json"},
      {"inspect", "m.relay"},
      {"check", "m.relay"},
      {"check", "m.relay", "--json"},
      {"export-relay", "m.relay"},
      {"run", "m.so"},
      {"bench", "m.so", "--runs", "2"},
      {"opt", "m.relay"},
      {"opt", "m.relay", "--passes", "infer-type"},
      {"diff", "m.relay", "m.relay"},
  };
  for (const auto& arguments : uses) {
    const ProcessResult result = run(arguments);
    EXPECT_LE(result.exit_status, 2) << arguments[0] << result.err;
  }
}

TEST_F(HostileText, OfTheCommandLineIsToldAsItIs) {
  const std::string name = "\x1b[31mred\x07.onnx";
  const ProcessResult missing = run({"compile", name, "-o", "m.so"});
  EXPECT_EQ(missing.exit_status, 1);
  EXPECT_NE(missing.err.find(R"(\x1b[31mred\x07.onnx)"), std::string::npos) << missing.err;
  EXPECT_EQ(run({"\x1b[31m"}).exit_status, 2);
  EXPECT_EQ(run({"compile", "--\x1b[31m"}).exit_status, 2);
  EXPECT_EQ(run({"compile", "x.onnx", "--target", "\x1b[31m"}).exit_status, 2);
}

// No name of a file is an option, or a list of them, of a program that is started.
TEST_F(HostileText, NamesOfFilesAreNoOptions) {
  const std::string model =
      "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(4), float32]) { exp(%x) }\n";
  for (const std::string name :
       {"-x", "@x", "--version", "a b;touch mark", "$(touch mark)", "x\n"}) {
    command_.write(name + ".relay", model);
    const ProcessResult result = run({"compile", "./" + name + ".relay", "--output=" + name + ".so",
                                      "--partition", "none", "--dump-dir=" + name + ".d"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_TRUE(std::filesystem::exists(command_.file(name + ".so"))) << name;
    EXPECT_EQ(run({"run", "./" + name + ".so"}).exit_status, 0) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(command_.file("mark")));
}

}  // namespace
}  // namespace tessera::e2e
