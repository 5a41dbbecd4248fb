// SPDX-License-Identifier: Apache-2.0
// What no pattern lists: operators after a product that its epilogue takes because it can.
#include <gtest/gtest.h>

#include "backends/cutlass/testing/kernel_test.h"
#include "backends/cutlass/testing/models.h"
#include "link/toolchain.h"
#include "support/testing/golden.h"

namespace tessera::backends {
namespace {

using cutlass::testing::compile;
using cutlass::testing::composites_of;
using cutlass::testing::RecordingToolchain;
using Names = std::vector<std::string>;

// A product with a bias of float16 as %0, and what else there is.
std::string model(const std::string& product, const std::string& shapes, const std::string& rest) {
  return "def @main(" + shapes + R"(
          %b: Tensor[(64), float16], %g: Tensor[(64), float16], %g32: Tensor[(64), float32],
          %s: Tensor[(), float16], %t: Tensor[(1, 1), float16]) {
  %0 = add()" +
         product + ", %b);\n  " + rest + "\n}";
}
std::string dense(const std::string& rest) {
  return model("nn.dense(%x, %w, units=None)",
               "%x: Tensor[(128, 32), float16], %w: Tensor[(64, 32), float16], "
               "%r: Tensor[(128, 64), float16], %q: Tensor[(128, 64), float16], "
               "%r32: Tensor[(128, 64), float32], %c: Tensor[(128, 1), float16], ",
               rest);
}
std::string batch(const std::string& rest) {
  return model("nn.batch_matmul(%x, %w, transpose_b=True)",
               "%x: Tensor[(3, 128, 32), float16], %w: Tensor[(3, 64, 32), float16], "
               "%r: Tensor[(3, 128, 64), float16], %q: Tensor[(3, 128, 64), float16], "
               "%r32: Tensor[(3, 128, 64), float32], %c: Tensor[(3, 128, 1), float16], ",
               rest);
}
std::string convolution(const std::string& rest) {
  return model(
      "nn.conv2d(%x, %w, padding=[1, 1, 1, 1], data_layout=\"NHWC\", kernel_layout=\"OHWI\")",
      "%x: Tensor[(2, 8, 8, 32), float16], %w: Tensor[(64, 3, 3, 32), float16], "
      "%r: Tensor[(2, 8, 8, 64), float16], %q: Tensor[(2, 8, 8, 64), float16], "
      "%r32: Tensor[(2, 8, 8, 64), float32], %c: Tensor[(2, 8, 8, 1), float16], ",
      rest);
}

std::ptrdiff_t operators_left(const byoc::PartitionOutcome& outcome) {
  const relay::Function& f = outcome.module.functions.at("main");
  std::ptrdiff_t count = 0;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) count += f.op(relay::NodeId(i)) != nullptr;
  return count;
}

// The source of the one kernel; the whole model is one composite of that name.
std::string expect_whole(const std::string& text, const std::string& composite) {
  RecordingToolchain toolchain;
  const auto outcome = compile(text, toolchain);
  EXPECT_EQ(composites_of(outcome), Names{composite}) << text;
  EXPECT_EQ(operators_left(outcome), 0) << text;
  return toolchain.sources.rbegin()->second;
}

constexpr const char* kForms[] = {
    // activations: of operators, and written out
    "multiply(%0, sigmoid(multiply(%0, 1.702f16)))",
    "nn.elu(%0)",
    "nn.selu(%0)",
    "nn.mish(%0)",
    "nn.softplus(%0)",
    "multiply(nn.hard_sigmoid(%0, alpha=0.1667f, beta=0.5f), %0)",
    "multiply(multiply(clip(add(%0, 3f16), a_min=0f, a_max=6f), 0.1667f16), %0)",
    "multiply(%0, tanh(log(add(exp(%0), 1f16))))",
    "nn.prelu(%0, %g, axis=-1)",
    "add(nn.relu(%0), multiply(%g, minimum(%0, 0f16)))",
    "exp(%0)",
    "negative(%0)",
    "maximum(%0, %g)",
    "divide(%0, %r)",
    "abs(%0)",
    "log(%0)",
    "sqrt(%0)",
    "sigmoid(nn.relu(%0))",
    "tanh(nn.gelu(nn.relu(%0)))",
    // what is added and multiplied
    "add(multiply(%0, %g), %r)",
    "add(multiply(%0, sigmoid(%0)), %r)",
    "add(multiply(multiply(%0, sigmoid(%0)), %r), %q)",
    "add(add(%0, %r), %q)",
    "multiply(add(%0, %r), 0.5f16)",
    "add(multiply(nn.relu(%0), %c), %r)",
    "subtract(%0, %r)",
    "subtract(%r, %0)",
    "subtract(1f16, multiply(%0, %s))",
    "multiply(multiply(add(multiply(erf(multiply(%0, %s)), %t), %t), %0), 2f16)",
    // other types
    "cast(%0, dtype=\"float32\")",
    "cast(nn.gelu(add(cast(%0, dtype=\"float32\"), %g32)), dtype=\"float16\")",
    "add(cast(%0, dtype=\"float32\"), %r32)",
};

TEST(CutlassGrownEpilogues, WhatIsBehindAProductIsOneRegion) {
  for (const char* form : kForms) {
    for (const auto& text : {dense(form), batch(form)}) {
      RecordingToolchain toolchain;
      const auto outcome = compile(text, toolchain);
      EXPECT_EQ(composites_of(outcome).size(), 1u) << text;
      EXPECT_EQ(operators_left(outcome), 0) << text;
    }
  }
}

TEST(CutlassGrownEpilogues, WhatIsBehindAConvolutionIsOneRegion) {
  for (const char* form : kForms) {
    RecordingToolchain toolchain;
    const auto outcome = compile(convolution(form), toolchain);
    EXPECT_EQ(composites_of(outcome).size(), 1u) << form;
    EXPECT_EQ(operators_left(outcome), 0) << form;
  }
}

TEST(CutlassGrownEpilogues, NamesSayWhatGrew) {
  expect_whole(dense("nn.relu(%0)"), "cutlass.product_bias_activation");
  expect_whole(dense("nn.mish(%0)"), "cutlass.product_epilogue");
  expect_whole(convolution("nn.mish(%0)"), "cutlass.conv2d_epilogue");
}

// The part of the source that the body makes.
std::string function_of(const std::string& source) {
  const std::size_t begin = source.find("struct Function");
  return source.substr(begin, source.find("};", begin) - begin + 3);
}

TEST(CutlassGrownEpilogues, TheFunctionIsMadeOfTheBody) {
  std::string text;
  for (const char* form :
       {"add(multiply(multiply(%0, sigmoid(multiply(%0, 1.702f16))), %g), %r)",
        "cast(nn.prelu(subtract(%r, nn.mish(%0)), %g, axis=1), dtype=\"float32\")",
        "nn.elu(nn.softplus(cast(nn.selu(add(cast(%0, dtype=\"float32\"), %g32)), "
        "dtype=\"float16\")), alpha=0.5f)"}) {
    text += "// " + std::string(form) + "\n" +
            function_of(expect_whole(dense(form), "cutlass.product_epilogue")) + "\n";
  }
  tessera::testing::expect_golden(
      TESSERA_SOURCE_DIR "/src/backends/cutlass/testdata/grown_epilogues.txt", text);
}

// As much as can be taken, where not all can.
TEST(CutlassGrownEpilogues, StopsWhereItMust) {
  const auto left = [](const std::string& text) {
    RecordingToolchain toolchain;
    const auto outcome = compile(text, toolchain);
    EXPECT_EQ(composites_of(outcome).size(), 1u) << text;
    return operators_left(outcome);
  };
  // What reads other elements, and what follows that.
  EXPECT_EQ(left(dense("%1 = negative(%0); subtract(%1, mean(%1, axis=[1], keepdims=True))")), 2);
  // Two users that do not meet.
  EXPECT_EQ(left(dense("%1 = exp(%0); (%1, negative(%1))")), 1);
  // An operator without a word, and a data type without a kernel.
  EXPECT_EQ(left(dense("atan(exp(%0))")), 1);
  EXPECT_EQ(left(dense("cast(exp(%0), dtype=\"float64\")")), 1);
  // A shape that is not the product's.
  EXPECT_EQ(left(model("nn.dense(%x, %w, units=None)",
                       "%x: Tensor[(1, 32), float16], %w: Tensor[(64, 32), float16], "
                       "%r: Tensor[(128, 64), float16], ",
                       "add(exp(%0), %r)")),
            1);
  // More inputs than the kernels take: eight.
  std::string sum = "%0";
  for (int i = 0; i < 3; ++i) sum = "subtract(subtract(" + sum + ", %r" + "), %q)";
  EXPECT_EQ(left(dense(sum)), 0);      // the same two
  const auto inputs = [](int count) {  // with the bias
    std::string params, sums = "%0";
    for (int i = 1; i < count; ++i) {
      params += fmt::format("%r{}: Tensor[(64), float16], ", i);
      sums = fmt::format("subtract({}, %r{})", sums, i);
    }
    return model("nn.dense(%x, %w, units=None)",
                 "%x: Tensor[(128, 32), float16], %w: Tensor[(64, 32), float16], " + params, sums);
  };
  EXPECT_EQ(left(inputs(8)), 0);
  EXPECT_EQ(left(inputs(9)), 1);
}

// Each product keeps what the patterns give it, and the sum of both is one's.
TEST(CutlassGrownEpilogues, TwoProductsShareNothing) {
  RecordingToolchain toolchain;
  const auto outcome = compile(
      dense("%1 = exp(nn.dense(%x, %w, units=None)); multiply(exp(%0), exp(%1))"), toolchain);
  EXPECT_EQ(composites_of(outcome).size(), 2u);
  EXPECT_EQ(operators_left(outcome), 0);
}

// Two tensors of the result's shape and a row, and a result that is wider than they are.
TEST(SlowKernels, OfALongEpilogueCompile) {
  if (!cutlass::testing::can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 2});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  const auto outcome =
      compile(dense("%1 = nn.elu(nn.softplus(nn.selu(multiply(%0, nn.hard_sigmoid(%0)))));\n"
                    "  %2 = add(multiply(nn.mish(%1), %r), subtract(%q, %1));\n"
                    "  cast(nn.prelu(%2, %g, axis=1), dtype=\"float32\")"),
              *toolchain);
  for (const auto& refusal : outcome.refusals) ADD_FAILURE() << refusal.reason;
  EXPECT_EQ(operators_left(outcome), 0);
  EXPECT_EQ(composites_of(outcome), Names{"cutlass.product_epilogue"});
  EXPECT_EQ(outcome.module.externs.size(), 1u);
}

}  // namespace
}  // namespace tessera::backends
