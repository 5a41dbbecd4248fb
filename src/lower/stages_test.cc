// SPDX-License-Identifier: Apache-2.0
// Which definitions get memory of their own.
#include "lower/stages.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lower/primitive.h"
#include "lower/testing/kernel_run.h"
#include "lower/testing/text.h"
#include "tir/print.h"
#include "tir/walk.h"

namespace tessera::lower {
namespace {

// Of a kernel that computes what its function does.
int num_temporaries(const std::string& text) {
  const relay::Function f = testing::function_of(text);
  const auto kernel = lower_primitive(f, relay::Function::kBody, {});
  EXPECT_TRUE(kernel.has_value()) << text;
  if (!kernel) return -1;
  const std::vector<Tensor> inputs = testing::inputs_of(f, 1);
  testing::expect_close(testing::evaluated(f, inputs), testing::interpreted(*kernel, inputs),
                        text + tir::print(*kernel, "k"));
  int count = 0;
  tir::for_each_node(
      kernel->body, [&](const tir::Stmt& s) { count += s.as<tir::Allocate>() != nullptr ? 1 : 0; });
  return count;
}

// `%0`, of 2 by 8 by 8, is read at two of the places that data say along an axis.
std::string read_at_two_places(const std::string& first, int count, int axis,
                               const std::string& dtype = "float32") {
  return fmt::format(
      "def @main(%x: Tensor[(2, 4, 8), {0}], %a: Tensor[(8), int64], %b: Tensor[(8), int64], "
      "%c: Tensor[({1}), int64], %d: Tensor[({1}), int64]) {{\n"
      "  %0 = {2};\n  add(take(%0, %c, axis={3}), take(%0, %d, axis={3}))\n}}\n",
      dtype, count, first, axis);
}

// As pictures are enlarged: rows, then columns, each the sum of neighbours.
constexpr const char* kRows = "add(take(%x, %a, axis=1), take(%x, %b, axis=1))";

TEST(Stages, SumsThatDataScatterAreStored) {
  EXPECT_EQ(num_temporaries(read_at_two_places(kRows, 32, 2)), 1);
  EXPECT_EQ(num_temporaries(read_at_two_places(kRows, 33, 2)), 1);
  EXPECT_EQ(num_temporaries(read_at_two_places(kRows, 32, 2, "float16")), 1);
}

TEST(Stages, SumsThatAreReadOnceAreNot) {
  EXPECT_EQ(num_temporaries(read_at_two_places(kRows, 8, 2)), 0) << "as many as there are";
  EXPECT_EQ(num_temporaries(read_at_two_places(kRows, 3, 2)), 0) << "fewer";
}

// Rows are loaded as vectors wherever they are, and so is what follows no axis.
TEST(Stages, WhatIsLoadedAsVectorsIsNot) {
  EXPECT_EQ(num_temporaries(read_at_two_places(kRows, 32, 1)), 0);
  EXPECT_EQ(num_temporaries(read_at_two_places("take(%x, %a, axis=1)", 32, 2)), 0)
      << "one element, stored or not";
}

TEST(Stages, NothingIsReadOfAnEmptyTensor) {
  EXPECT_EQ(num_temporaries(read_at_two_places(kRows, 0, 2)), 0);
}

// A row that `rows` have in common, of so many operations, none of which is dear by itself.
std::string common_row(int rows, int operations) {
  std::string body;
  for (int i = 0; i < operations; ++i) {
    body += fmt::format("  %{} = maximum(subtract(abs({}), 1.5f), -1f);\n", i,
                        i == 0 ? "%x" : fmt::format("%{}", i - 1));
  }
  return fmt::format(
      "def @main(%x: Tensor[(24), float32], %y: Tensor[({}, 24), float32]) {{\n{}"
      "  multiply(%y, %{})\n}}\n",
      rows, body, operations - 1);
}

TEST(Stages, AChainThatManyElementsHaveInCommonIsStoredOnce) {
  EXPECT_EQ(num_temporaries(common_row(64, 3)), 1);
  EXPECT_EQ(num_temporaries(common_row(64, 12)), 1);
  EXPECT_EQ(num_temporaries(common_row(64, 1)), 0) << "a few operations are free";
  EXPECT_EQ(num_temporaries(common_row(4, 3)), 0) << "few rows";
  EXPECT_EQ(num_temporaries(common_row(1, 12)), 0) << "its own row";
}

}  // namespace
}  // namespace tessera::lower
