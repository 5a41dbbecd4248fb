// SPDX-License-Identifier: Apache-2.0
// Long work shows how far it is: a bar on a terminal, nothing but plain lines elsewhere.
#include <gtest/gtest.h>

#include "command.h"

namespace tessera::e2e {
namespace {

class ProgressOfCompile : public ::testing::Test {
 protected:
  ProgressOfCompile() {
    command_.write("m.relay",
                   "#[version = \"0.0.5\"]\n"
                   "def @main(%x: Tensor[(2, 8), float32]) { exp(nn.softmax(%x)) }\n");
  }
  Command command_;
};

TEST_F(ProgressOfCompile, ABarOnATerminal) {
  const ProcessResult shown = command_.run_program(
      {"script", "-qec", TESSERA_BUILD_DIR "/bin/tessera compile m.relay -o m.so", "/dev/null"});
  ASSERT_TRUE(shown.ok()) << shown.out << shown.err;
  const std::size_t bar = shown.out.find("compiling kernels [");
  ASSERT_NE(bar, std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("\r\033[K", bar), std::string::npos);  // it is gone in the end
  EXPECT_EQ(shown.out.find("[#", shown.out.find("needs at run time")), std::string::npos);
}

TEST_F(ProgressOfCompile, PlainLinesElsewhere) {
  const ProcessResult plain = command_.run({"compile", "m.relay", "-o", "m.so"});
  ASSERT_TRUE(plain.ok()) << plain.err;
  EXPECT_EQ(plain.err, "");
  EXPECT_EQ(plain.out.find('\r'), std::string::npos);
  EXPECT_NE(plain.out.find("\ncompile kernels "), std::string::npos) << plain.out;
}

}  // namespace
}  // namespace tessera::e2e
