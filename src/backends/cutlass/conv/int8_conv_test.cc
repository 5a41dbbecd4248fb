// SPDX-License-Identifier: Apache-2.0
// Convolutions of integers of eight bits: what is taken as one kernel, and what that computes.
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
using Names = std::vector<std::string>;

constexpr const char* kConv = "tessera_conv_";
constexpr const char* kLayoutPasses =
    "convert-layout{desired=[nn.conv2d:NHWC:OHWI]},pad-channels,fold-constant,simplify-expr,";

// What QLinearConv with a zero point of the image, a scale for each channel, and a bias becomes, of
// p channels, with q of the result.
std::string requantised(int p, int q) {
  return fmt::format(R"(
def @main(%x: Tensor[(8, 30, 30, {0}), uint8], %w: Tensor[({1}, 3, 3, {0}), int8],
          %z: Tensor[(1, 1, 1, {1}), int32], %b: Tensor[(1, 1, 1, {1}), int32],
          %s: Tensor[(1, 1, 1, {1}), float32]) {{
  %0 = nn.conv2d(%x, %w, data_layout="NHWC", kernel_layout="OHWI", out_dtype="int32");
  %1 = multiply(cast(add(subtract(%0, %z), %b), dtype="float32"), %s);
  %2 = minimum(maximum(add(round(%1), 3f), 0f), 255f);
  cast(%2, dtype="uint8")
}})",
                     p, q);
}

TEST(CutlassIntegerConvolutions, ARequantisedConvolutionIsOneKernel) {
  RecordingToolchain toolchain;
  const auto outcome = compile(requantised(128, 256), toolchain);
  EXPECT_EQ(composites_of(outcome), Names{"cutlass.integer_conv2d_requantised"});
  expect_lines(kernel_of(toolchain, kConv),
               {"conv_sm90.cuh", "using A = uint8_t;", "using B = int8_t;", "using Sum = int32_t;",
                "using D = uint8_t;", "kAlignA = 16, kAlignB = 16, kAlignD = 16;",
                "Shape<Int<128>>>;  // (M, N, (channels))",
                "InputList<Row<int32_t>, Row<int32_t>, Row<float>, Scalar<float>>;",
                "float element(int32_t sum, int32_t x0, int32_t x1, float x2, float x3) {\n"
                "    const int32_t v0 = sum - x0;\n"
                "    const int32_t v1 = v0 + x1;\n"
                "    const float v2 = v1;\n"
                "    const float v3 = v2 * x2;\n"
                "    const float v4 = round(v3);\n"
                "    const float v5 = v4 + x3;\n"
                "    const float v6 = maximum(v5, 0.f);\n"
                "    const float v7 = minimum(v6, 255.f);\n"
                "    return v7;\n"});
}

// One convolution, with what is said after it.
std::string byte_convolution(const std::string& x, const std::string& kernel,
                             const std::string& attrs, const std::string& epilogue) {
  return fmt::format(
      "def @main(%x: Tensor[({0}), int8], %w: Tensor[({1}), int8], %s: float32,\n"
      "          %y: Tensor[(8, 14, 14, 64), float32], %b: Tensor[(64), int32]) {{\n"
      "  %0 = nn.conv2d(%x, %w, {2}, data_layout=\"NHWC\", kernel_layout=\"OHWI\", "
      "out_dtype=\"int32\");\n  {3}\n}}",
      x, kernel, attrs, epilogue);
}

TEST(CutlassIntegerConvolutions, EpiloguesAreThoseOfProducts) {
  const auto of = [](const std::string& epilogue) {
    RecordingToolchain toolchain;
    return composites_of(
        compile(byte_convolution("8, 14, 14, 64", "64, 3, 3, 64", "padding=[1, 1, 1, 1]", epilogue),
                toolchain));
  };
  const std::string scaled = "multiply(cast(%0, dtype=\"float32\"), %s)";
  EXPECT_EQ(of("%0"), Names{"cutlass.conv2d"});
  EXPECT_EQ(of("add(%0, %b)"), Names{"cutlass.conv2d_bias"});
  EXPECT_EQ(of("nn.relu(" + scaled + ")"), Names{"cutlass.integer_conv2d_rescaled"});
  EXPECT_EQ(of("nn.relu(add(" + scaled + ", %y))"), Names{"cutlass.integer_conv2d_rescaled"});
  EXPECT_EQ(of("cast(clip(round(" + scaled + "), a_min=-127f, a_max=127f), dtype=\"int8\")"),
            Names{"cutlass.integer_conv2d_requantised"});
  // Beyond what the patterns say.
  EXPECT_EQ(of("nn.relu(multiply(nn.relu(" + scaled + "), %y))"),
            Names{"cutlass.integer_conv2d_epilogue"});
}

// A residual block between quantisations, of p channels, with q of the result: what is added is of
// eight bits, too. `sum` has the convolution as %2, and the other tensor as %3.
std::string residual(int p, int q, const std::string& sum, const std::string& also = "%5") {
  return fmt::format(R"(
def @main(%x: Tensor[(8, 30, 30, {0}), uint8], %w: Tensor[({1}, 3, 3, {0}), int8],
          %z: Tensor[({1}), int32], %s: Tensor[({1}), float32], %b: Tensor[({1}), float32],
          %r: Tensor[(8, 28, 28, {1}), int8], %t: float32) {{
  %0 = nn.conv2d(%x, %w, data_layout="NHWC", kernel_layout="OHWI", out_dtype="int32");
  %1 = multiply(cast(subtract(%0, %z), dtype="float32"), %s);
  %2 = nn.bias_add(%1, %b, axis=3);
  %3 = multiply(cast(%r, dtype="float32"), 0.25f);
  %4 = nn.relu({2});
  %5 = cast(clip(round(divide(%4, %t)), a_min=0f, a_max=127f), dtype="int8");
  {3}
}})",
                     p, q, sum, also);
}

TEST(CutlassIntegerConvolutions, ResidualsAreOfEightBits) {
  const Names taken = {"cutlass.integer_conv2d_residual_requantised"};
  for (const char* sum : {"add(%2, %3)", "add(%3, %2)"}) {
    RecordingToolchain toolchain;
    EXPECT_EQ(composites_of(compile(residual(64, 64, sum), toolchain)), taken);
    expect_lines(kernel_of(toolchain, kConv), {"Full<int8_t>", "using D = int8_t;"});
  }
  // What others read as floats stays with them.
  RecordingToolchain toolchain;
  compile(residual(64, 64, "add(%2, %3)", "(%5, %3)"), toolchain);
  expect_lines(kernel_of(toolchain, kConv), {"Full<float>", "using D = int8_t;"});
}

TEST(CutlassIntegerConvolutions, AWindowOfOneElementIsAProduct) {
  RecordingToolchain toolchain;
  compile(byte_convolution("8, 14, 14, 64", "64, 1, 1, 64", "padding=[0, 0, 0, 0]", "%0"),
          toolchain);
  expect_lines(kernel_of(toolchain), {"GemmSm90<", "using D = int32_t;"});
}

TEST(CutlassIntegerConvolutions, WhatTmaCannotReadIsGatheredByThreads) {
  const auto of = [](int channels, const char* target) {
    RecordingToolchain toolchain;
    compile(byte_convolution(fmt::format("8, 15, 15, {}", channels),
                             fmt::format("60, 3, 3, {}", channels), "padding=[1, 1, 0, 0]", "%0"),
            toolchain, *parse_target(target));
    return kernel_of(toolchain, kConv);
  };
  expect_lines(of(4, "cutlass"), {"ConvSm80<", "kHasFewChannels = true", "kAlignA = 4, kAlignB = 4",
                                  "OpMultiplyAddSaturate", "GemmShape<64, 64, 64>"});
  expect_lines(of(40, "cutlass"), {"ConvSm80<", "kHasFewChannels = false", "kAlignA = 8"});
  expect_lines(of(64, "cutlass"), {"ConvSm90<", "kAlignD = 4"});
  expect_lines(of(64, "cutlass -arch=sm_86"), {"ConvSm80<", "kAlignA = 16"});
}

// Steps of 128 channels would be half empty.
TEST(CutlassIntegerConvolutions, StepsAreAsLongAsTheChannelsFill) {
  const auto longest = [](std::int64_t channels) {
    cutlass::Gemm gemm;
    gemm.m = 25088, gemm.n = 128, gemm.k = 9 * channels;
    gemm.a_dtype = gemm.b_dtype = gemm.epilogue.dtype = kInt8;
    gemm.sum_dtype = gemm.epilogue.sum_dtype = kInt32;
    gemm.a_align = gemm.b_align = gemm.d_align = 16;
    const ops::WindowAxis three{3, 1, 1, 1, 1};
    gemm.convolution = cutlass::Convolution{32, 28, 28, channels, 28, 28, channels, {three, three}};
    return cutlass::candidates(gemm, Target("cutlass"), {}).front().tile_k;
  };
  EXPECT_EQ(longest(64), 64);
  EXPECT_EQ(longest(192), 64);
  EXPECT_EQ(longest(128), 128);
  EXPECT_EQ(longest(240), 128);
}

TEST(CutlassIntegerConvolutions, RefusalsHaveReasons) {
  const auto reason = [](int channels, const std::string& kernel, const std::string& attrs) {
    RecordingToolchain toolchain;
    const auto outcome = compile(
        byte_convolution(fmt::format("8, 40, 40, {}", channels), kernel, attrs, "%0"), toolchain);
    return outcome.refusals.empty() ? "" : outcome.refusals.front().reason;
  };
  EXPECT_EQ(reason(6, "64, 3, 3, 6", "groups=1"),
            "a convolution of int8 needs channels of a multiple of 4, not 6");
  EXPECT_EQ(reason(4096, "64, 3, 3, 4096", "groups=1"), "a sum of 36864 products may overflow");
  EXPECT_EQ(reason(64, "64, 3, 3, 1", "groups=64"), "the convolution has 64 groups");
  EXPECT_EQ(reason(4, "64, 33, 3, 4", "groups=1"),
            "the window is larger than 32 elements, or its padding is negative");
}

// ConvInteger: an image of three channels, channels second, weights without a zero point.
TEST(CutlassIntegerConvolutions, ConvIntegerIsOneKernel) {
  RecordingToolchain toolchain;
  const auto outcome = compile(imported(R"(
def @main(%x: Tensor[(4, 3, 32, 32), int8], %w: Tensor[(64, 3, 7, 7), int8], %s: float32) {
  %0 = subtract(cast(%x, dtype="int32"), reshape(cast(0i16, dtype="int32"), newshape=[]));
  %1 = nn.conv2d(%0, cast(%w, dtype="int32"), strides=[2, 2], padding=[3, 3, 3, 3]);
  nn.relu(multiply(cast(%1, dtype="float32"), %s))
})",
                                        {64, 3, 7, 7}, kLayoutPasses),
                               toolchain);
  EXPECT_EQ(composites_of(outcome), Names{"cutlass.integer_conv2d_rescaled"});
  expect_lines(kernel_of(toolchain, kConv), {"kHasFewChannels = true", "kAlignA = 4",
                                             "using D = float;", "InputList<Scalar<float>>;"});
}

// The border is written with the zero point, and its part in the sums is a vector of int32.
TEST(CutlassIntegerConvolutions, QLinearConvIsOneKernelBehindItsBorder) {
  RecordingToolchain toolchain;
  const auto outcome = compile(imported(R"(
def @main(%x: Tensor[(4, 64, 14, 14), uint8], %w: Tensor[(64, 64, 3, 3), int8],
          %b: Tensor[(64), int32], %s: Tensor[(64), float32]) {
  %0 = subtract(cast(%x, dtype="int32"), reshape(cast(114i16, dtype="int32"), newshape=[]));
  %1 = nn.conv2d(%0, subtract(cast(%w, dtype="int32"), 0), padding=[1, 1, 1, 1]);
  %2 = add(%1, reshape(%b, newshape=[64, 1, 1]));
  %3 = add(round(multiply(cast(%2, dtype="float32"), reshape(%s, newshape=[64, 1, 1]))), 3f);
  cast(minimum(maximum(%3, 0f), 255f), dtype="uint8")
})",
                                        {64, 64, 3, 3}, kLayoutPasses),
                               toolchain);
  EXPECT_EQ(composites_of(outcome), Names{"cutlass.integer_conv2d_requantised"});
  expect_lines(
      kernel_of(toolchain, kConv),
      {"using D = uint8_t;", "InputList<Row<int32_t>, Row<int32_t>, Row<float>, Scalar<float>>;"});
  EXPECT_NE(toolchain.sources.at("cutlass_regions").find("{4, 16, 16, 64, 3, 3, 14, 14, {1, 1}, "),
            std::string::npos);
}

// DequantizeLinear, Conv, Relu, QuantizeLinear, with a zero point of the image but no border.
TEST(CutlassIntegerConvolutions, ConvolutionsBetweenDequantizationsAreOneKernel) {
  RecordingToolchain toolchain;
  const auto outcome = compile(imported(R"(
def @main(%x: Tensor[(4, 64, 14, 14), uint8], %w: Tensor[(64, 64, 3, 3), int8],
          %s: Tensor[(64, 1, 1, 1), float32], %b: Tensor[(64), float32]) {
  %0 = multiply(subtract(cast(%x, dtype="float32"), 7f), 0.02f);
  %1 = multiply(subtract(cast(%w, dtype="float32"), 0f), %s);
  %2 = nn.relu(nn.bias_add(nn.conv2d(%0, %1, padding=[0, 0, 0, 0]), %b, axis=1));
  cast(minimum(maximum(round(divide(%2, 0.03f)), -128f), 127f), dtype="int8")
})",
                                        {64, 64, 3, 3}, kLayoutPasses),
                               toolchain);
  EXPECT_EQ(composites_of(outcome), Names{"cutlass.integer_conv2d_requantised"});
  expect_lines(kernel_of(toolchain, kConv),
               {"InputList<Row<int32_t>, Row<float>, Row<float>, Scalar<float>>;"});
}

TEST(CutlassIntegerConvolutions, RelaysQuantisationIsOneKernel) {
  RecordingToolchain toolchain;
  const auto outcome = compile(imported(R"(
def @main(%x: Tensor[(4, 14, 14, 64), uint8], %w: Tensor[(64, 3, 3, 64), int8],
          %s: Tensor[(64), float32], %b: Tensor[(64), float32]) {
  %0 = nn.conv2d(qnn.dequantize(%x, 0.02f, 0), qnn.dequantize(%w, %s, 0, axis=0),
                 padding=[1, 1, 1, 1], data_layout="NHWC", kernel_layout="OHWI");
  qnn.quantize(nn.relu(nn.bias_add(%0, %b, axis=3)), 0.03f, 3, out_dtype="uint8")
})",
                                        {64, 3, 3, 64}),
                               toolchain);
  EXPECT_EQ(composites_of(outcome), Names{"cutlass.integer_conv2d_requantised"});
  expect_lines(kernel_of(toolchain, kConv),
               {"InputList<Row<float>, Row<float>, Scalar<float>, Scalar<float>>;"});
}

// One kernel of each kind with all that is special: unlike types, a zero point, a bias, a residual
// and a result of eight bits; and channels of the result that are no multiple of a tile.
TEST(SlowKernels, OfIntegerConvolutionsCompile) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 1});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  for (const auto& [channels, results, target] :
       {std::tuple(64, 96, "cutlass"), std::tuple(4, 60, "cutlass -arch=sm_80")}) {
    const auto outcome =
        compile(residual(channels, results, "add(%2, %3)"), *toolchain, *parse_target(target));
    ASSERT_EQ(outcome.module.artifacts.size(), 1u) << target;
    EXPECT_EQ(kernels_in(outcome.module.artifacts[0].payload, "tessera_conv_uint8"), 1) << target;
  }
}

}  // namespace
}  // namespace tessera::backends
