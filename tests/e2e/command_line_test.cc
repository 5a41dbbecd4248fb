// SPDX-License-Identifier: Apache-2.0
// What the command says of itself, and of a word that it does not know.
#include <gtest/gtest.h>

#include "command.h"

namespace tessera::e2e {
namespace {

TEST(CommandLine, TellsItsVersion) {
  const ProcessResult ran = Command().run({"--version"});
  EXPECT_TRUE(ran.ok()) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("tessera ") && ran.out.find('.') != std::string::npos) << ran.out;
}

TEST(CommandLine, SuggestsTheCommandThatWasMeant) {
  const ProcessResult typo = Command().run({"compil", "m.onnx", "-o", "m.so"});
  EXPECT_EQ(typo.exit_status, 2);
  EXPECT_EQ(typo.err,
            "there is no command `compil`: did you mean `compile`?\n"
            "Run with --help for more information.\n");
  const ProcessResult model = Command().run({"model.onnx"});
  EXPECT_EQ(model.exit_status, 2);
  EXPECT_EQ(model.err, "there is no command `model.onnx`\nRun with --help for more information.\n");
  EXPECT_EQ(Command().run({}).exit_status, 2);
}

}  // namespace
}  // namespace tessera::e2e
