// SPDX-License-Identifier: Apache-2.0
// Kernels for a device whose threads race, or wait for some that never come, are refused; the same
// with their barriers are not.
#include <gtest/gtest.h>

#include "tir/parse.h"
#include "tir/print.h"
#include "tir/verify.h"

namespace tessera::tir {
namespace {

// Statements of one launch, each line indented by four.
std::string kernel(const std::string& launch, const std::string& body) {
  return "@T.prim_func\ndef k(n: T.int64, x: T.Buffer((64, 64), \"float32\"),"
         " flags: T.Buffer((64,), \"bool\"), *, y: T.Buffer((64, 64), \"float32\"),"
         " z: T.Buffer((64, 64), \"float32\")):\n"
         "  for i in T." +
         launch + "(64):\n" + body;
}
constexpr const char* kShared = "    s = T.alloc_buffer((64,), \"float32\", scope=\"shared\")\n";
constexpr const char* kFill = "    for t in T.threads(64):\n      s[t] = x[i, t]\n";
constexpr const char* kUse = "    for t in T.threads(64):\n      y[i, t] = s[63 - t]\n";
constexpr const char* kBarrier = "    T.barrier()\n";

std::string indented(const std::string& block) {
  std::string out;
  for (std::size_t at = 0; at < block.size();) {
    const std::size_t end = block.find('\n', at) + 1;
    out += "  " + block.substr(at, end - at);
    at = end;
  }
  return out;
}

// What `verify` says; "" where it says nothing.
std::string verdict(const std::string& text) {
  const auto parsed = parse_prim_func(text);
  if (!parsed) return "no kernel: " + render(parsed.error());
  const std::string printed = print(*parsed, "k");
  const auto again = parse_prim_func(printed);
  EXPECT_TRUE(again && print(*again, "k") == printed) << printed;
  const auto legal = verify(*parsed, "k");
  return legal ? "" : render(legal.error());
}
void accepts(const std::string& text) { EXPECT_EQ(verdict(text), "") << text; }
void refuses(const std::string& text, std::string_view why) {
  const std::string found = verdict(text);
  EXPECT_NE(found.find(why), std::string::npos) << text << found;
}
constexpr std::string_view kNone = "no barrier between two accesses of `s`";

TEST(VerifyTeams, WhatAnotherThreadHasWrittenIsBehindABarrier) {
  refuses(kernel("blocks", kShared + std::string(kFill) + kUse), kNone);
  accepts(kernel("blocks", kShared + std::string(kFill) + kBarrier + kUse));
  // By the one thread that speaks for the team, and read by all.
  const std::string one = std::string(kShared) + "    s[0] = x[i, 0]\n";
  refuses(kernel("blocks", one + kUse), kNone);
  accepts(kernel("blocks", one + kBarrier + kUse));
  // Global memory is no other.
  const std::string global = "    for t in T.threads(64):\n      z[i, t] = x[i, t]\n";
  const std::string back = "    for t in T.threads(64):\n      y[i, t] = z[i, 63 - t]\n";
  for (const char* launch : {"blocks", "warps"}) {
    refuses(kernel(launch, global + back), "accesses of `z`");
    accepts(kernel(launch, global + kBarrier + back));
  }
  // Nor is a view.
  const std::string viewed = std::string(kShared) + kFill +
                             "    w = T.view(s, (8, 8), \"float32\")\n" +
                             "    for t in T.threads(64):\n      y[i, t] = w[t % 8, t // 8]\n";
  refuses(kernel("blocks", viewed), kNone);
}

TEST(VerifyTeams, WhatOthersStillReadIsNotOverwritten) {
  const std::string filled = std::string(kShared) + kFill + kBarrier + kUse;
  refuses(kernel("blocks", filled + kFill), kNone);
  accepts(kernel("blocks", filled + kBarrier + kFill));
}

// The tiled schedule as it was: one barrier between filling and using, none before the next step
// fills again.
TEST(VerifyTeams, TheNextIterationOfALoopComesBehindTheLast) {
  const auto steps = [](const std::string& body, const char* extent = "9") {
    return kernel("blocks", kShared + std::string("    for k in T.serial(") + extent + "):\n" +
                                indented(body));
  };
  const std::string one = std::string(kFill) + kBarrier + kUse;
  refuses(steps(one), "no barrier between two accesses of `s` in a loop's next iteration");
  accepts(steps(kBarrier + one));
  accepts(steps(one + kBarrier));
  refuses(steps(std::string(kBarrier) + kFill + kUse), kNone);
  // A loop that may have no iteration has no barrier to count on.
  const auto between = [](const char* extent) {
    return kernel("blocks", std::string(kShared) + kFill + "    for k in T.serial(" + extent +
                                "):\n      T.barrier()\n" + kUse);
  };
  accepts(between("2"));
  refuses(between("n"), kNone);
}

TEST(VerifyTeams, EveryWayThroughBranchesHasTheBarrier) {
  const std::string head = std::string(kShared) + kFill + "    if n < 5:\n      T.barrier()\n";
  refuses(kernel("blocks", head + kUse), kNone);
  accepts(kernel("blocks", head + "    else:\n      T.barrier()\n" + kUse));
  // Both branches read what was written before them.
  refuses(kernel("blocks", kShared + std::string(kFill) + "    if n < 5:\n" + indented(kUse)),
          kNone);
  // A condition is read by all threads; a `let` too.
  const std::string flag = "    f = T.alloc_buffer((1,), \"bool\", scope=\"shared\")\n";
  const std::string set = "    for t in T.threads(1):\n      f[t] = flags[i]\n";
  const std::string use = "    if f[0]:\n      y[i, 0] = 1.0\n";
  refuses(kernel("blocks", flag + set + use), "accesses of `f`");
  accepts(kernel("blocks", flag + set + kBarrier + use));
  refuses(kernel("blocks", flag + set + "    g: T.bool = f[0]\n    if g:\n      y[i, 0] = 1.0\n"),
          "accesses of `f`");
}

TEST(VerifyTeams, AConditionIsReadAgainAfterTheLoopHasChangedIt) {
  const auto loop = [](const std::string& body) {
    return kernel("blocks",
                  "    f = T.alloc_buffer((1,), \"bool\", scope=\"shared\")\n    f[0] = flags[i]\n"
                  "    T.barrier()\n    while f[0]:\n" +
                      body);
  };
  const std::string change = "      f[0] = flags[0]\n", barrier = "      T.barrier()\n";
  refuses(loop(change), "accesses of `f`");
  refuses(loop(barrier + change), "accesses of `f`");
  refuses(loop(change + barrier), "accesses of `f`");
  accepts(loop(barrier + change + barrier));
}

TEST(VerifyTeams, AllThreadsComeToABarrier) {
  const std::string one = "    for t in T.threads(64):\n";
  refuses(kernel("blocks", one + "      T.barrier()\n"), "a barrier of one thread");
  refuses(kernel("warps", one + "      if t < 7:\n        T.barrier()\n"),
          "a barrier of one thread");
  refuses(kernel("grid", "    if i < 7:\n      T.barrier()\n"), "a barrier of one thread");
  refuses(kernel("parallel", kBarrier), "a barrier outside of a team");
  // Where sizes or what all threads read alike decide, they come together.
  accepts(kernel("warps", "    if n < 7:\n      T.barrier()\n"));
}

// A text may define more names one after the other than a stack holds, and names of names.
TEST(VerifyTeams, DefinitionsAreNoDepth) {
  std::string many = "    b0 = T.view(x, (64, 64), \"float32\")\n", doubled;
  for (int k = 1; k < 50000; ++k) {
    many += fmt::format("    b{} = T.view(b{}, (64, 64), \"float32\")\n", k, k - 1);
  }
  accepts(kernel("blocks", many + "    y[i, 0] = b49999[i, 0]\n"));
  std::string at = "t";
  for (int k = 0; k < 60; ++k) {
    doubled += fmt::format("      a{}: T.int64 = {} + {}\n", k, at, at);
    at = fmt::format("a{}", k);
  }
  refuses(kernel("blocks", kShared + std::string("    for t in T.threads(64):\n") + doubled +
                               "      s[a59] = x[i, t]\n"),
          "threads of one loop share elements of `s`");
}

TEST(VerifyTeams, SharedMemoryIsOfBlocks) {
  refuses(kernel("warps", std::string(kShared) + kFill), "shared memory `s` of a warp");
  refuses(kernel("grid", std::string(kShared) + "    s[0] = x[i, 0]\n"),
          "shared memory `s` of one thread");
}

TEST(VerifyTeams, ThreadsOfOneLoopTouchTheirOwnElements) {
  const auto loop = [](const std::string& statements, const char* extent = "64") {
    return kernel("blocks",
                  kShared + std::string("    for t in T.threads(") + extent + "):\n" + statements);
  };
  constexpr std::string_view kShare = "threads of one loop share elements of `s`";
  refuses(loop("      s[t // 2] = x[i, t]\n"), kShare);
  refuses(loop("      s[0] = x[i, t]\n"), kShare);
  refuses(loop("      s[t] = s[63 - t]\n"), kShare);
  refuses(loop("      s[t % 32] = x[i, t]\n"), kShare);
  refuses(loop("      for v in T.serial(4):\n        s[t * 2 + v] = x[i, t]\n", "16"), kShare);
  refuses(loop("      s[T.int64(x[i, t])] = x[i, t]\n"), kShare);
  accepts(loop("      s[t] = s[t] + x[i, t]\n"));
  accepts(loop("      s[t % 32] = x[i, t]\n", "32"));
  accepts(loop("      s[t % 8 * 8 + t // 8] = x[i, t]\n"));
  accepts(loop("      for v in T.vectorized(4):\n        s[t * 4 + v] = x[i, t]\n", "16"));
  accepts(loop("      at: T.int64 = 63 - t\n      s[at] = x[i, t]\n"));
  // Rows that begin in other banks, as tiles have them.
  const std::string tile = "    s = T.alloc_buffer((16, 68), \"float32\", scope=\"shared\")\n";
  accepts(kernel("blocks", tile + "    for t in T.threads(1024):\n"
                                  "      s[t % 16, t // 16] = x[i, t % 64]\n"));
  refuses(kernel("blocks", tile + "    for t in T.threads(1024):\n"
                                  "      s[t % 16, t // 32] = x[i, t % 64]\n"),
          kShare);
}

}  // namespace
}  // namespace tessera::tir
