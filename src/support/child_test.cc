// SPDX-License-Identifier: Apache-2.0
#include "support/child.h"

#include <chrono>
#include <csignal>
#include <stdexcept>

#include <gtest/gtest.h>
#include <unistd.h>

namespace tessera {
namespace {

TEST(Child, PrintsAndEnds) {
  int here = 1;
  const ChildResult r = run_in_child(
      [&](const Print& print) {
        here = 2;
        print("first\n");
        print("second\n");
      },
      10);
  EXPECT_EQ(r.output, "first\nsecond\n");
  EXPECT_EQ(r.problem, "");
  EXPECT_EQ(here, 1) << "what it changes is its own";
}

TEST(Child, KeepsWhatWasPrintedBeforeACrash) {
  const ChildResult r = run_in_child(
      [](const Print& print) {
        print("begin 3\n");
        ::signal(SIGABRT, SIG_DFL);
        ::raise(SIGABRT);
      },
      10);
  EXPECT_EQ(r.output, "begin 3\n");
  EXPECT_NE(r.problem.find("signal 6"), std::string::npos) << r.problem;
}

TEST(Child, IsKilledWhenItSaysNothing) {
  const auto begin = std::chrono::steady_clock::now();
  const ChildResult r = run_in_child(
      [](const Print& print) {
        print("begin 0\n");
        for (;;) ::pause();
      },
      0.2);
  EXPECT_EQ(r.output, "begin 0\n");
  EXPECT_EQ(r.problem, "it hangs");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(Child, TellsThatItWasKilled) {
  const ChildResult r = run_in_child([](const Print&) { ::raise(SIGKILL); }, 10);
  EXPECT_TRUE(r.is_killed);
  EXPECT_NE(r.problem.find("signal 9"), std::string::npos) << r.problem;
}

TEST(Child, TellsWhatItThrew) {
  const ChildResult r =
      run_in_child([](const Print&) { throw std::runtime_error("no such thing"); }, 10);
  EXPECT_EQ(r.output, "threw no such thing\n");
  EXPECT_EQ(r.problem, "threw no such thing");
  EXPECT_EQ(r.thrown, "no such thing");
}

TEST(Child, IsAProgram) {
  const ChildResult r =
      run_program({"/bin/sh", "-c", "read line; echo \"<$line> $1\"; exit 3", "sh", "a b"}, 10);
  EXPECT_EQ(r.output, "<> a b\n");
  EXPECT_EQ(r.problem, "exit status 3");
}

TEST(Child, IsAProgramThatHangsOrIsNotThere) {
  EXPECT_EQ(run_program({"/bin/sh", "-c", "sleep 30"}, 0.2).problem, "it hangs");
  EXPECT_EQ(run_program({"/no/such/program"}, 10).problem, "exit status 127");
}

}  // namespace
}  // namespace tessera
