// SPDX-License-Identifier: Apache-2.0
// Kernels stay in proportion to the operators that they are made of: what is read twice, and reads
// twice itself, is not written twice as often with each operator.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lower/primitive.h"
#include "lower/testing/kernel_run.h"
#include "lower/testing/text.h"
#include "tir/print.h"
#include "tir/walk.h"

namespace tessera::lower {
namespace {

std::size_t nodes_of(const tir::PrimFunc& f) {
  std::size_t n = 0;
  tir::for_each_node(f.body, [&](const tir::Expr&) { ++n; });
  return n;
}

// `step` of one value (`{0}`) gives the next, `{1}`; `{2}` is the number of the step.
std::string chain(std::string_view parameters, std::string_view step, int steps) {
  std::string text = fmt::format("def @main(%x: Tensor[(4, 4), float32], {}) {{\n", parameters);
  for (int i = 0; i < steps; ++i) {
    const std::string from = i == 0 ? "%x" : fmt::format("%{}", 10 * i - 1);
    text += fmt::format(fmt::runtime(step), from, fmt::format("%{}", 10 * i + 9), 10 * i);
  }
  return text + fmt::format("  copy(%{})\n}}\n", 10 * steps - 1);
}

class Chains : public ::testing::Test {
 protected:
  // The numbers are right, and the size grows with the steps.
  void check(std::string_view parameters, std::string_view step, int steps = 24) {
    const relay::Function f = testing::function_of(chain(parameters, step, steps));
    const auto kernel = lower_primitive(f, relay::Function::kBody, {});
    ASSERT_TRUE(kernel.has_value());
    EXPECT_LT(nodes_of(*kernel), 3000u * static_cast<unsigned>(steps)) << tir::print(*kernel, "k");
    const std::vector<Tensor> inputs = testing::inputs_of(f, 1);
    testing::expect_close(testing::evaluated(f, inputs), testing::interpreted(*kernel, inputs),
                          std::string(step));
  }
};

TEST_F(Chains, BothBranchesOfASelect) {
  check("%c: Tensor[(4, 4), bool]",
        "  %{2} = add({0}, 1f);\n  {1} = where(%c, %{2}, sigmoid({0}));\n");
}

TEST_F(Chains, TwoPlacesOfData) {
  check("%i: Tensor[(4), int64], %j: Tensor[(4), int64]",
        "  {1} = multiply(0.5f, add(take({0}, %i, axis=0), take({0}, %j, axis=1)));\n");
}

TEST_F(Chains, ItselfTurned) {
  check("%c: Tensor[(4, 4), bool]", "  {1} = where(%c, transpose({0}, axes=[1, 0]), {0});\n");
}

TEST_F(Chains, PlacesThatAreSelectedThemselves) {
  check("%z: float32",
        "  %{2} = nn.pad({0}, 0f, pad_width=[[1, 1], [1, 1]], pad_mode=\"reflect\");\n"
        "  {1} = tanh(add({0}, strided_slice(%{2}, begin=[0, 1], end=[4, 5], strides=[1, 1], "
        "axes=None)));\n");
}

// One sum after the other: 4^7 places of one element.
TEST_F(Chains, TapsOfManyDimensions) {
  const relay::Function f = testing::function_of(
      "image.resize(float32[2,2,2,2,2,2,2], size=[3,3,3,3,3,3,3], method=\"cubic\")");
  const auto kernel = lower_primitive(f, relay::Function::kBody, {});
  ASSERT_TRUE(kernel.has_value());
  EXPECT_LT(nodes_of(*kernel), 8000u);
}

std::size_t depth_of(const tir::Expr& e) {
  std::size_t below = 0;
  tir::for_each_child(e, [&](const tir::Expr& child) { below = std::max(below, depth_of(child)); });
  return below + 1;
}

TEST(DeepKernels, ManyPartsAreHalved) {
  std::string parameters, parts;
  for (int i = 0; i < 1000; ++i) {
    parameters += fmt::format("{}%p{}: Tensor[(2), float32]", i == 0 ? "" : ", ", i);
    parts += fmt::format("{}%p{}", i == 0 ? "" : ", ", i);
  }
  for (const char* op : {"stack", "concatenate"}) {
    const relay::Function f =
        testing::function_of(fmt::format("def @main({}) {{ {}(({})) }}\n", parameters, op, parts));
    const auto kernel = lower_primitive(f, relay::Function::kBody, {});
    ASSERT_TRUE(kernel.has_value()) << op;
    std::size_t depth = 0;
    tir::for_each_node(kernel->body, [&](const tir::Stmt& s) {
      tir::for_each_child(s, [&](const tir::Expr& e) { depth = std::max(depth, depth_of(e)); });
    });
    EXPECT_LT(depth, 40u) << op;
    const std::vector<Tensor> inputs = testing::inputs_of(f, 1);
    testing::expect_close(testing::evaluated(f, inputs), testing::interpreted(*kernel, inputs), op);
  }
}

}  // namespace
}  // namespace tessera::lower
