// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/compiler/clerk.h"

#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::backends::cudnn {
namespace {

std::string answer(const std::string& question) {
  if (question == "die") std::_Exit(3);
  static int asked = 0;
  return std::to_string(++asked) + question;
}

TEST(ClerkProcess, RemembersAndIsStartedAgainWhereItEnded) {
  Clerk clerk(answer);
  std::string text;
  EXPECT_TRUE(clerk.ask("a", &text));
  EXPECT_EQ(text, "1a");
  const std::string longest(1 << 20, 'x');
  EXPECT_TRUE(clerk.ask(longest, &text));
  EXPECT_EQ(text, "2" + longest);
  EXPECT_FALSE(clerk.ask("die", &text));
  EXPECT_NE(text.find('3'), std::string::npos) << text;
  EXPECT_TRUE(clerk.ask("", &text));
  EXPECT_EQ(text, "1");
}

// A child has a process of its own, and leaves its parent's alone.
TEST(ClerkProcess, IsOneForEachProcessThatAsks) {
  Clerk clerk(answer);
  std::string text;
  ASSERT_TRUE(clerk.ask("a", &text));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_fresh = clerk.ask("b", &text) && text == "1b";
    std::_Exit(is_fresh ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(clerk.ask("c", &text));
  EXPECT_EQ(text, "2c");
}

}  // namespace
}  // namespace tessera::backends::cudnn
