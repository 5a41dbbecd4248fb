// SPDX-License-Identifier: Apache-2.0
// Products of integers of eight bits: what is taken as one kernel, and what that computes.
#include <gtest/gtest.h>

#include "backends/cutlass/gemm/configuration.h"
#include "backends/cutlass/testing/integers.h"
#include "backends/cutlass/testing/kernel_test.h"
#include "link/toolchain.h"

namespace tessera::backends {
namespace {

using cutlass::testing::can_compile;
using cutlass::testing::compile;
using cutlass::testing::composites_of;
using cutlass::testing::expect_lines;
using cutlass::testing::imported;
using cutlass::testing::kernel_of;
using cutlass::testing::kernels_in;
using cutlass::testing::RecordingToolchain;

// What QLinearMatMul with a zero point of the rows, a scale for each column, and a bias becomes.
constexpr const char* kRequantised = R"(
def @main(%x: Tensor[(128, 256), uint8], %w: Tensor[(512, 256), int8],
          %z: Tensor[(512), int32], %s: Tensor[(512), float32], %b: Tensor[(512), float32],
          %t: float32) {
  %0 = nn.dense(%x, %w, units=None, out_dtype="int32");
  %1 = multiply(cast(subtract(%0, %z), dtype="float32"), %s);
  %2 = round(divide(nn.relu(add(%1, %b)), %t));
  %3 = minimum(maximum(add(%2, 3f), -128f), 127f);
  cast(%3, dtype="int8")
})";

TEST(CutlassIntegers, ARequantisedProductIsOneKernel) {
  RecordingToolchain toolchain;
  const auto outcome = compile(kRequantised, toolchain);
  EXPECT_EQ(composites_of(outcome),
            (std::vector<std::string>{"cutlass.integer_product_requantised"}));
  expect_lines(kernel_of(toolchain),
               {"gemm_sm90.cuh", "using A = uint8_t;", "using B = int8_t;", "using Sum = int32_t;",
                "using D = int8_t;", "kAlignA = 16, kAlignB = 16, kAlignD = 16;",
                "InputList<Row<int32_t>, Row<float>, Row<float>, Scalar<float>, Scalar<float>>;",
                "float element(int32_t sum, int32_t x0, float x1, float x2, float x3, float x4) {\n"
                "    const int32_t v0 = sum - x0;\n"
                "    const float v1 = v0;\n"
                "    const float v2 = v1 * x1;\n"
                "    const float v3 = v2 + x2;\n"
                "    const float v4 = relu(v3);\n"
                "    const float v5 = divide(v4, x3);\n"
                "    const float v6 = round(v5);\n"
                "    const float v7 = v6 + x4;\n"
                "    const float v8 = maximum(v7, (-128.f));\n"
                "    const float v9 = minimum(v8, 127.f);\n"
                "    return v9;\n"});
}

TEST(CutlassIntegers, SumsAreInt32Throughout) {
  RecordingToolchain toolchain;
  const auto outcome = compile(
      "def @main(%x: Tensor[(4, 32, 64), int8], %w: Tensor[(4, 48, 64), int8]) { "
      "nn.batch_matmul(%x, %w, out_dtype=\"int32\", transpose_b=True) }",
      toolchain);
  EXPECT_EQ(composites_of(outcome), (std::vector<std::string>{"cutlass.product"}));
  expect_lines(kernel_of(toolchain), {"using D = int32_t;", "int32_t element(int32_t sum) {"});
}

// Beyond what float32 holds.
TEST(CutlassIntegers, NumbersBehindSumsAreIntegers) {
  RecordingToolchain toolchain;
  const auto outcome = compile(
      "def @main(%x: Tensor[(64, 256), int8], %w: Tensor[(128, 256), int8], "
      "%z: Tensor[(128), int32]) { add(subtract(nn.dense(%x, %w, units=None, "
      "out_dtype=\"int32\"), %z), -100000001) }",
      toolchain);
  EXPECT_EQ(composites_of(outcome), std::vector<std::string>{"cutlass.integer_product_epilogue"});
  expect_lines(kernel_of(toolchain), {"const int32_t v1 = v0 + (-100000001);"});
}

// What one scale and two layers have in common: scales and weights are arguments.
TEST(CutlassIntegers, LayersOfOtherScalesShareTheKernel) {
  RecordingToolchain toolchain;
  std::string text = "def @main(%x: Tensor[(64, 256), int8], %w: Tensor[(256, 256), int8]) {\n";
  std::string x = "%x";
  for (const char* scale : {"0.25f", "0.5f", "0.3f"}) {
    text += fmt::format(
        "  let %y{0} = cast(clip(round(divide(multiply(cast(nn.dense({1}, %w, units=None, "
        "out_dtype=\"int32\"), dtype=\"float32\"), {2}), {2})), a_min=-127f, a_max=127f), "
        "dtype=\"int8\");\n",
        scale[2], x, scale);
    x = fmt::format("%y{}", scale[2]);
  }
  const auto outcome = compile(text + "  " + x + "\n}", toolchain);
  EXPECT_EQ(outcome.regions.size(), 3u);
  EXPECT_EQ(toolchain.sources.size(), 2u);  // the kernel, and what calls it
}

TEST(CutlassIntegers, WhatTmaCannotReadGoesToTheKernelForSm80) {
  for (const auto& [k, target] :
       {std::pair(252, "cutlass"), std::pair(256, "cutlass -arch=sm_80")}) {
    RecordingToolchain toolchain;
    compile(fmt::format("def @main(%x: Tensor[(64, {0}), int8], %w: Tensor[(40, {0}), uint8]) {{ "
                        "cast(nn.dense(%x, %w, units=None, out_dtype=\"int32\"), "
                        "dtype=\"float32\") }}",
                        k),
            toolchain, *parse_target(target));
    expect_lines(kernel_of(toolchain),
                 {"gemm_sm80.cuh", "OpMultiplyAddSaturate", "GemmShape<64, 64, 128>",
                  k == 252 ? "kAlignA = 4, kAlignB = 4, kAlignD = 4"
                           : "kAlignA = 16, kAlignB = 16, kAlignD = 4"});
  }
}

TEST(CutlassIntegers, CandidatesHaveRowsOfAsManyBytes) {
  cutlass::Gemm gemm;
  gemm.m = 4096, gemm.n = 4096, gemm.k = 4096;
  gemm.a_dtype = gemm.b_dtype = gemm.epilogue.dtype = kInt8;
  gemm.sum_dtype = gemm.epilogue.sum_dtype = kInt32;
  gemm.a_align = gemm.b_align = gemm.d_align = 16;
  const auto all = cutlass::candidates(gemm, Target("cutlass"), {});
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(all.front().kernel_name().starts_with("sm90_128x128x128_")) << all.front().text();
  for (const auto& c : all) EXPECT_GE(c.tile_k, 128);
}

TEST(CutlassIntegers, MatMulIntegerIsOneKernel) {
  RecordingToolchain toolchain;
  const auto outcome = compile(imported(R"(
def @main(%x: Tensor[(64, 512), int8], %w: Tensor[(512, 256), int8], %s: float32) {
  %0 = subtract(cast(%w, dtype="int32"), reshape(cast(0i16, dtype="int32"), newshape=[]));
  %1 = nn.matmul(cast(%x, dtype="int32"), %0, units=None);
  nn.relu(multiply(cast(%1, dtype="float32"), %s))
})",
                                        {512, 256}),
                               toolchain);
  EXPECT_EQ(composites_of(outcome), (std::vector<std::string>{"cutlass.integer_product_rescaled"}));
  expect_lines(kernel_of(toolchain), {"using A = int8_t;", "InputList<Scalar<float>>;"});
}

// The zero point of the rows is a vector of int32; the weight's, which is zero, is nothing.
TEST(CutlassIntegers, QLinearMatMulIsOneKernel) {
  RecordingToolchain toolchain;
  const auto outcome = compile(imported(R"(
def @main(%x: Tensor[(64, 512), uint8], %w: Tensor[(512, 256), int8], %s: Tensor[(256), float32]) {
  %0 = subtract(cast(%x, dtype="int32"), 128);
  %1 = nn.matmul(%0, subtract(cast(%w, dtype="int32"), 0), units=None);
  %2 = add(round(multiply(cast(%1, dtype="float32"), %s)), 3f);
  cast(minimum(maximum(%2, 0f), 255f), dtype="uint8")
})",
                                        {512, 256}),
                               toolchain);
  EXPECT_EQ(composites_of(outcome),
            (std::vector<std::string>{"cutlass.integer_product_requantised"}));
  expect_lines(kernel_of(toolchain),
               {"using D = uint8_t;", "InputList<Row<int32_t>, Row<float>, Scalar<float>>;"});
}

// DequantizeLinear, Gemm, QuantizeLinear.
TEST(CutlassIntegers, ProductsBetweenDequantizationsAreOneKernel) {
  RecordingToolchain toolchain;
  const auto outcome = compile(imported(R"(
def @main(%x: Tensor[(64, 512), int8], %w: Tensor[(256, 512), int8], %s: Tensor[(256, 1), float32],
          %b: Tensor[(256), float32]) {
  %0 = multiply(subtract(cast(%x, dtype="float32"), 0f), 0.02f);
  %1 = multiply(subtract(cast(%w, dtype="float32"), 0f), %s);
  %2 = nn.relu(add(nn.dense(%0, %1, units=None), %b));
  %3 = round(divide(%2, 0.03f));
  cast(minimum(maximum(%3, -128f), 127f), dtype="int8")
})",
                                        {256, 512}),
                               toolchain);
  EXPECT_EQ(composites_of(outcome),
            (std::vector<std::string>{"cutlass.integer_product_requantised"}));
  expect_lines(kernel_of(toolchain), {"InputList<Row<float>, Row<float>, Scalar<float>>;",
                                      "= divide(v3, x2);", "= round(v4);"});
}

TEST(CutlassIntegers, RefusalsHaveReasons) {
  RecordingToolchain toolchain;
  const auto reasons = [&](const std::string& body, int k = 256, const char* w = "(64, 256)") {
    const auto outcome =
        compile(fmt::format("def @main(%x: Tensor[(64, {}), int8], %w: Tensor[{}, int8]) {{ {} }}",
                            k, w, body),
                toolchain);
    std::string text;
    for (const auto& refusal : outcome.refusals) text += refusal.reason + "\n";
    return text;
  };
  const std::string dense = "nn.dense(%x, %w, units=None, out_dtype=\"int32\")";
  EXPECT_NE(reasons("nn.dense(%x, %w, units=None)").find("a product of int8 does not give int32"),
            std::string::npos);
  EXPECT_NE(reasons("nn.matmul(%x, %w, units=None, out_dtype=\"int32\")", 64, "(64, 256)")
                .find("a product of int8 needs operands that lie along K"),
            std::string::npos);
  EXPECT_NE(reasons(dense, 30, "(64, 30)").find("needs rows of a multiple of 4, not 30"),
            std::string::npos);
  EXPECT_NE(reasons(dense, 65536, "(64, 65536)").find("a sum of 65536 products may overflow"),
            std::string::npos);
  EXPECT_NE(reasons("cast(cast(" + dense + ", dtype=\"float32\"), dtype=\"int8\")")
                .find("the range of what is cast to int8 is not known to fit"),
            std::string::npos);
}

// One kernel with all that is special: unlike types, a zero point, eight bits that come out.
TEST(SlowKernels, OfIntegersCompile) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 1});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  const auto outcome = compile(kRequantised, *toolchain);
  ASSERT_EQ(outcome.module.artifacts.size(), 1u);
  EXPECT_EQ(kernels_in(outcome.module.artifacts[0].payload, "tessera_gemm_uint8"), 1);
}

}  // namespace
}  // namespace tessera::backends
