// SPDX-License-Identifier: Apache-2.0
// Kernels whose accesses stay inside of their buffers are proven, for all sizes; those whose do not
// are not, however near.
#include "tir/verify_bounds.h"

#include <gtest/gtest.h>

#include "tir/parse.h"

namespace tessera::tir {
namespace {

// Statements of a kernel, each line indented by two.
std::string kernel(const std::string& body) {
  return "@T.prim_func\ndef k(n: T.int64, m: T.int64, x: T.Buffer((n, m), \"float32\"),"
         " at: T.Buffer((n,), \"int64\"), *, y: T.Buffer((n, m), \"float32\"),"
         " z: T.Buffer((64, 64), \"float32\")):\n" +
         body;
}

std::vector<std::string> unproven(const std::string& body) {
  const auto parsed = parse_prim_func(kernel(body));
  EXPECT_TRUE(parsed.has_value()) << body << render(parsed.error());
  return parsed ? unproven_accesses(*parsed) : std::vector<std::string>{"no kernel"};
}
void proves(const std::string& body) {
  const std::vector<std::string> found = unproven(body);
  EXPECT_TRUE(found.empty()) << body << found.front();
}
void leaves_open(const std::string& body, const std::string& why) {
  const std::vector<std::string> found = unproven(body);
  ASSERT_FALSE(found.empty()) << body;
  EXPECT_NE(found.front().find(why), std::string::npos) << found.front();
}

// Loops over x with the statement inside.
std::string loops(const std::string& statement) {
  return "  for i in T.serial(n):\n    for j in T.serial(m):\n      " + statement + "\n";
}

TEST(VerifyBounds, LoopsAlongTheDimensions) {
  proves(loops("y[i, j] = x[i, j]"));
  proves(loops("y[n - 1 - i, m - 1 - j] = x[i, j]"));
  leaves_open(loops("y[i, j + 1] = x[i, j]"),
              "index 1 of `y[i, j + 1] = ...` is not proven to be less");
  leaves_open(loops("y[i, j] = x[i, j - 1]"),
              "index 1 of `x[i, j - 1]` is not proven to be at least 0");
  leaves_open(loops("y[i, j] = x[j, i]"), "index 0 of `x[j, i]`");
  proves("  for i in T.serial(2, n):\n    z[0, 0] = T.float32(at[i] + at[i - 2])\n");
  leaves_open("  for i in T.serial(2, n + 1):\n    z[0, 0] = T.float32(at[i])\n", "index 0");
}

TEST(VerifyBounds, FlattenedLoops) {
  proves("  for i in T.grid(n * m):\n    y[i // m, i % m] = x[i // m, i % m]\n");
  leaves_open("  for i in T.grid(n * m):\n    y[i // n, i % m] = 0.0\n", "index 0");
  leaves_open("  for i in T.grid(n * m + 1):\n    y[i // m, i % m] = 0.0\n", "index 0");
  proves(
      "  for i in T.parallel(512):\n    for v in T.vectorized(8):\n"
      "      z[i // 8, i % 8 * 8 + v] = 0.0\n");
  leaves_open(
      "  for i in T.parallel(512):\n    for v in T.vectorized(8):\n"
      "      z[i // 8, i % 8 * 8 + v + 1] = 0.0\n",
      "index 1");
  // Digits of a thread's number.
  proves(
      "  for t in T.grid(256):\n    for a in T.unrolled(4):\n      for b in T.unrolled(4):\n"
      "        z[t // 16 * 4 + a, t % 16 * 4 + b] = 0.0\n");
  leaves_open(
      "  for t in T.grid(257):\n    for a in T.unrolled(4):\n      for b in T.unrolled(4):\n"
      "        z[t // 16 * 4 + a, t % 16 * 4 + b] = 0.0\n",
      "index 0");
}

// Two groups of a transposed convolution, one size being a multiple of the other: only whole
// numbers show that the group is at most 1, and the condition says much that does not matter.
TEST(VerifyBounds, FlattenedLoopsOverGroups) {
  const auto unproven_groups = [](const std::string& group) {
    const auto parsed = parse_prim_func(
        "@T.prim_func\ndef k(c: T.int64, n: T.int64, x: T.Buffer((c, n, n, 2), \"float32\"), *,"
        " y: T.Buffer((2, n, c, 4), \"float32\")):\n"
        "  for ijk in T.parallel(n * 2 * c):\n"
        "    i: T.int64 = ijk // (c * n)\n"
        "    j: T.int64 = ijk // c % n\n"
        "    k: T.int64 = ijk % c\n"
        "    for l in T.serial(4):\n"
        "      for kh in T.serial(2):\n"
        "        for kw in T.serial(2):\n"
        "          for ci in T.vectorized(c // 2):\n"
        "            y[i, j, k, l] = T.if_then_else((k - kh) % 2 == 0 and 0 <= k - kh and"
        " (k - kh) // 2 < n and (l - kw) % 2 == 0 and 0 <= l - kw, x[" +
        group + " * (c // 2) + ci, j, (k - kh) // 2, (l - kw) // 2], 0.0)\n");
    EXPECT_TRUE(parsed) << render(parsed.error());
    Prover prover;
    prover.add_size(parsed->dims[1]);
    prover.bind_named(parsed->dims[0], prover.form(parsed->dims[1] * 2));
    return unproven_accesses(*parsed, prover, {});
  };
  EXPECT_EQ(unproven_groups("i"), std::vector<std::string>{});
  EXPECT_NE(unproven_groups("(i + 1)"), std::vector<std::string>{});
}

// Loops over a product run where both factors are positive, if neither is negative.
TEST(VerifyBounds, FlattenedLoopsOverADifference) {
  const auto parsed = parse_prim_func(
      kernel("  for i in T.grid(n * m):\n    y[i // m, i % m] = x[i // m, i % m]\n"));
  ASSERT_TRUE(parsed) << render(parsed.error());
  const Expr size = make_var("size");
  Prover prover;
  prover.add_size(size);
  prover.add_size(parsed->dims[0]);
  prover.bind_named(parsed->dims[1], prover.form(size - min(1, size)));
  const auto found = unproven_accesses(*parsed, prover, {});
  EXPECT_TRUE(found.empty()) << found.front();
}

// Where the loop runs, the one factor that may be negative is not; two of them may be.
TEST(VerifyBounds, FlattenedLoopsOverSizesThatMayBeNegative) {
  const auto is_proven = [](std::int64_t rows_less, std::int64_t columns_less) {
    const auto parsed = parse_prim_func(
        kernel("  for i in T.grid(n * m):\n    y[i // m, i % m] = x[i // m, i % m]\n"));
    EXPECT_TRUE(parsed) << render(parsed.error());
    const Expr rows = make_var("rows"), columns = make_var("columns");
    Prover prover;
    prover.add_size(rows);
    prover.add_size(columns);
    prover.bind_named(parsed->dims[0], prover.form(rows - rows_less));
    prover.bind_named(parsed->dims[1], prover.form(columns - columns_less));
    return unproven_accesses(*parsed, prover, {}).empty();
  };
  EXPECT_TRUE(is_proven(0, 1));
  EXPECT_TRUE(is_proven(1, 0));
  EXPECT_FALSE(is_proven(1, 1));
}

TEST(VerifyBounds, VectorsAndTheirTails) {
  const std::string vectors =
      "  for i in T.serial(n):\n    for o in T.serial(m // 8):\n      for v in T.vectorized(8):\n";
  proves(vectors + "        y[i, o * 8 + v] = 0.0\n");
  leaves_open(vectors + "        y[i, o * 8 + v + 1] = 0.0\n", "index 1");
  proves(
      "  for i in T.serial(n):\n    for v in T.serial(m % 8):\n"
      "      y[i, m // 8 * 8 + v] = 0.0\n");
  const std::string blocks = "  for i in T.serial(n):\n    for o in T.serial((m + 7) // 8):\n";
  proves(blocks + "      for v in T.serial(T.min(8, m - o * 8)):\n        y[i, o * 8 + v] = 0.0\n");
  proves(blocks +
         "      for v in T.serial(8):\n        if o * 8 + v < m:\n"
         "          y[i, o * 8 + v] = 0.0\n");
  leaves_open(blocks +
                  "      for v in T.serial(8):\n        if o * 8 + v <= m:\n"
                  "          y[i, o * 8 + v] = 0.0\n",
              "index 1");
}

TEST(VerifyBounds, ConditionsAroundAnAccess) {
  proves(loops("y[i, j] = T.if_then_else(1 <= j, x[i, j - 1], 0.0)"));
  leaves_open(loops("y[i, j] = T.if_then_else(0 <= j, x[i, j - 1], 0.0)"),
              "index 1 of `x[i, j - 1]`");
  proves(loops("y[i, j] = T.if_then_else(1 <= i and i - 1 < n, x[i - 1, j], 0.0)"));
  proves(loops("y[i, j] = T.if_then_else(j < 1 or i < 1, 0.0, x[i - 1, j - 1])"));
  leaves_open(loops("y[i, j] = T.if_then_else(j < 1 and i < 1, 0.0, x[i - 1, j - 1])"), "index");
  // A condition that has a name.
  proves(
      loops("inside: T.bool = j + 3 < m\n      y[i, j] = T.if_then_else(inside, x[i, j + 3], "
            "0.0)"));
}

TEST(VerifyBounds, TurnedRound) {
  proves(loops("y[i, j] = x[i, T.if_then_else(j < T.min(at[i], m), T.min(at[i], m) - j - 1, j)]"));
  leaves_open(loops("y[i, j] = x[i, T.if_then_else(j < T.min(at[i], m), T.min(at[i], m) - j, j)]"),
              "index 1");
}

TEST(VerifyBounds, WhatIsRequiredHoldsBehindIt) {
  const std::string access = "  for i in T.serial(n):\n    y[0, i] = x[0, i]\n";
  leaves_open(access, "index 1");
  proves("  T.require(n == m, \"sizes differ\")\n" + access);
  leaves_open(access + "  T.require(n == m, \"sizes differ\")\n", "index 1");
  proves("  T.require(T.max(n, m) == m, \"too small\")\n" + access);
  // Three things, each of which is enough.
  const std::string broadcast =
      "  for i in T.serial(n):\n    for j in T.serial(T.if_then_else(n == 1, m, n)):\n"
      "      y[i, T.if_then_else(m == 1, 0, j)] = 0.0\n";
  leaves_open(broadcast, "index 1");
  proves("  T.require(n == m or (n == 1 or m == 1), \"no broadcast\")\n" + broadcast);
  // On a device an iteration goes on.
  const std::string launch =
      "  for i in T.grid(n):\n    T.require(0 <= at[i] and at[i] < m, \"no\")\n";
  leaves_open(launch + "    y[i, at[i]] = 0.0\n", "index 1");
  proves(
      "  for i in T.serial(n):\n    T.require(0 <= at[i] and at[i] < m, \"no\")\n"
      "    y[i, at[i]] = 0.0\n");
}

TEST(VerifyBounds, IndicesFromData) {
  leaves_open(loops("y[i, j] = x[at[i], j]"),
              "index 0 of `x[at[i], j]` is not proven to be at least 0");
  proves(loops("y[i, j] = x[T.max(T.min(at[i], n - 1), 0), j]"));
  leaves_open(loops("y[i, j] = z[T.max(T.min(at[i], n - 1), 0), 0]"), "index 0");
  proves(loops("y[i, j] = T.if_then_else(0 <= at[i] and at[i] < n, x[at[i], j], 0.0)"));
  // Another value each time that it is read.
  leaves_open(
      "  c = T.alloc_buffer((), \"int64\", scope=\"stack\")\n  c[()] = 0\n"
      "  for i in T.serial(n):\n    if c[()] < n and 0 <= c[()]:\n      y[c[()], 0] = 0.0\n",
      "index 0");
}

TEST(VerifyBounds, WindowsAndTheirPadding) {
  // 3 wide, by steps of 2, padded by 1.
  proves(
      "  for i in T.serial(n):\n    for o in T.serial((m + 2 - 3) // 2 + 1):\n"
      "      for k in T.serial(3):\n        y[i, o] = T.if_then_else(1 <= o * 2 + k and "
      "o * 2 + k - 1 < m, x[i, o * 2 + k - 1], 0.0)\n");
  const auto padded = [](const char* width) {
    return std::string("  for i in T.serial(n):\n    p = T.alloc_buffer((m + ") + width +
           ",), \"float32\", scope=\"stack\")\n    for o in T.serial((m + 2 - 3) // 2 + 1):\n"
           "      for k in T.serial(3):\n        y[i, 0] = p[o * 2 + k]\n";
  };
  leaves_open(padded("1"), "index 0 of `p");
}

TEST(VerifyBounds, ViewsAreNoLargerThanWhatTheyShow) {
  const std::string filled = "  for i in T.serial(n * m):\n    v[i] = 0.0\n";
  proves("  v = T.view(y, (n * m,), \"float32\")\n" + filled);
  leaves_open("  v = T.view(y, (n * m + 1,), \"float32\")\n" + filled, "view `v`");
  leaves_open("  v = T.view(z, (n * m,), \"float32\")\n" + filled, "view `v`");
  proves("  T.require(n * m == 4096, \"no\")\n  v = T.view(z, (n * m,), \"float32\")\n" + filled);
}

}  // namespace
}  // namespace tessera::tir
