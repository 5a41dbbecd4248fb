// SPDX-License-Identifier: Apache-2.0
// Convolutions of the back end without a device: what it takes, what text it makes, which kernels
// they share.
#include <set>

#include <gtest/gtest.h>

#include "backends/cutlass/gemm/configuration.h"
#include "backends/cutlass/kernels/measure_window.h"
#include "backends/cutlass/testing/models.h"
#include "ops/evaluation/evaluate_function.h"
#include "support/testing/golden.h"

namespace tessera::backends {
namespace {

using cutlass::testing::compile;
using cutlass::testing::composites_of;
using cutlass::testing::OneMeasurement;
using cutlass::testing::parse;
using cutlass::testing::RecordingToolchain;
using tessera::testing::expect_golden;
using Names = std::vector<std::string>;

// A bottleneck of a residual network, with the weights' layouts as convert-layout leaves them.
constexpr const char* kBottleneck = R"(
def @main(%x: Tensor[(8, 28, 28, 256), float16], %w1: Tensor[(128, 1, 1, 256), float16],
          %b1: Tensor[(128), float16], %w2: Tensor[(128, 3, 3, 128), float16],
          %b2: Tensor[(1, 1, 1, 128), float16], %w3: Tensor[(512, 1, 1, 128), float16],
          %b3: Tensor[(512), float16], %w4: Tensor[(512, 1, 1, 256), float16],
          %b4: Tensor[(512), float16]) {
  %0 = nn.conv2d(%x, %w1, padding=[0, 0, 0, 0], data_layout="NHWC", kernel_layout="OHWI");
  %1 = nn.relu(add(%0, %b1));
  %2 = nn.conv2d(%1, %w2, strides=[2, 2], padding=[1, 1, 1, 1], data_layout="NHWC",
                 kernel_layout="OHWI");
  %3 = nn.relu(add(%2, %b2));
  %4 = nn.conv2d(%x, %w4, strides=[2, 2], padding=[0, 0, 0, 0], data_layout="NHWC",
                 kernel_layout="OHWI");
  %5 = nn.bias_add(%4, %b4, axis=3);
  %6 = nn.conv2d(%3, %w3, padding=[0, 0, 0, 0], data_layout="NHWC", kernel_layout="OHWI");
  nn.relu(add(add(%6, %b3), %5))
})";

TEST(CutlassConvolutions, ABottleneckIsFourRegions) {
  RecordingToolchain toolchain;
  const auto outcome = compile(kBottleneck, toolchain);
  EXPECT_EQ(composites_of(outcome),
            (Names{"cutlass.conv2d_bias_activation", "cutlass.conv2d_bias_activation",
                   "cutlass.conv2d_bias", "cutlass.conv2d_bias_residual_activation"}));
  std::string text;
  for (const auto& [name, source] : toolchain.sources) text += source + "\n";
  expect_golden(TESSERA_SOURCE_DIR "/src/backends/cutlass/testdata/bottleneck.txt", text);
}

// One convolution of `x` with what is said after it; `kernel` is O, H, W, I.
std::string convolution(const std::string& x, const std::string& kernel, const std::string& attrs,
                        const std::string& epilogue, const std::string& dtype = "float16") {
  return fmt::format(
      "def @main(%x: Tensor[({0}), {4}], %w: Tensor[({1}), {4}], %y: Tensor[(8, 14, 14, 64), "
      "{4}],\n"
      "          %s: Tensor[(8, 1, 1, 64), {4}]) {{\n"
      "  %0 = nn.conv2d(%x, %w, {2}, data_layout=\"NHWC\", kernel_layout=\"OHWI\");\n  {3}\n}}",
      x, kernel, attrs, epilogue, dtype);
}

Names composites(const std::string& text, const Target& target = Target("cutlass")) {
  RecordingToolchain toolchain;
  return composites_of(compile(text, toolchain, target));
}

TEST(CutlassConvolutions, EpiloguesAreThoseOfProducts) {
  const auto of = [](const std::string& epilogue) {
    return composites(
        convolution("8, 14, 14, 32", "64, 3, 3, 32", "padding=[1, 1, 1, 1]", epilogue));
  };
  EXPECT_EQ(of("%0"), Names{"cutlass.conv2d"});
  EXPECT_EQ(of("multiply(%0, sigmoid(%0))"), Names{"cutlass.conv2d_activation"});
  EXPECT_EQ(of("nn.relu(add(%0, %y))"), Names{"cutlass.conv2d_bias_activation"});
  EXPECT_EQ(of("add(nn.relu(add(%0, 1f16)), %y)"),
            Names{"cutlass.conv2d_bias_activation_residual"});
  EXPECT_EQ(of("multiply(add(%0, 1f16), %y)"), Names{"cutlass.conv2d_bias_residual"});
  // Each image has a row of its own: not what an epilogue can read.
  EXPECT_EQ(of("add(%0, %s)"), Names{"cutlass.conv2d"});
}

TEST(CutlassConvolutions, SizesStridesAndPaddingAreArguments) {
  RecordingToolchain toolchain;
  const auto outcome = compile(R"(
def @main(%x: Tensor[(8, 56, 56, 64), float16], %w: Tensor[(64, 3, 3, 64), float16],
          %v: Tensor[(64, 5, 3, 64), float16], %u: Tensor[(64, 3, 3, 64), float16]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], data_layout="NHWC", kernel_layout="OHWI");
  %1 = nn.conv2d(%0, %v, padding=[0, 1, 2, 1], data_layout="NHWC", kernel_layout="OHWI");
  nn.conv2d(%1, %u, padding=[2, 2, 2, 2], dilation=[2, 2], data_layout="NHWC",
            kernel_layout="OHWI")
})",
                               toolchain);
  EXPECT_EQ(outcome.regions.size(), 3u);
  EXPECT_EQ(toolchain.sources.size(), 2u);  // one kernel, and the functions that call it
  const std::string& text = toolchain.sources.at("cutlass_regions");
  for (const char* line : {"{8, 56, 56, 64, 3, 3, 56, 56, {1, 1}, {1, 1}, {1, 1, 1, 1}};",
                           "{8, 56, 56, 64, 5, 3, 54, 56, {1, 1}, {1, 1}, {0, 1, 2, 1}};",
                           "{8, 54, 56, 64, 3, 3, 54, 56, {1, 1}, {2, 2}, {2, 2, 2, 2}};"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

TEST(CutlassConvolutions, TheBatchMayBeASymbol) {
  RecordingToolchain toolchain;
  compile(
      "#[symbol n = 1..32 : 8]\n"
      "def @main(%x: Tensor[(?n, 14, 14, 64), bfloat16], %w: Tensor[(64, 3, 3, 64), bfloat16]) "
      "{ nn.conv2d(%x, %w, data_layout=\"NHWC\", kernel_layout=\"OHWI\") }",
      toolchain);
  const std::string& text = toolchain.sources.at("cutlass_regions");
  EXPECT_NE(text.find("g.window = {static_cast<int32_t>(size(tensors[0], 0, 1)), 14, 14, 64,"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("m = size(tensors[2], 0, 3)"), std::string::npos) << text;
}

// The text of the one kernel.
std::string kernel(const std::string& text, const Target& target = Target("cutlass")) {
  RecordingToolchain toolchain;
  compile(text, toolchain, target);
  EXPECT_EQ(toolchain.sources.size(), 2u);
  return toolchain.sources.rbegin()->second;
}

TEST(CutlassConvolutions, WhatTmaCannotReadIsGatheredByThreads) {
  const auto of = [](int channels, const std::string& dtype, const std::string& target) {
    return kernel(
        convolution(fmt::format("8, 15, 15, {}", channels), fmt::format("64, 3, 3, {}", channels),
                    "padding=[1, 1, 0, 0]", "%0", dtype),
        *parse_target(target));
  };
  const std::string image = of(3, "float16", "cutlass");
  for (const char* line : {"kernels/conv_sm80.cuh", "kHasFewChannels = true",
                           "kAlignA = 1, kAlignB = 1, kAlignD = 8", "kStages = 2"}) {
    EXPECT_NE(image.find(line), std::string::npos) << line << "\n" << image;
  }
  const std::string odd = of(36, "bfloat16", "cutlass");
  for (const char* line : {"kHasFewChannels = false", "kAlignA = 4, kAlignB = 4"}) {
    EXPECT_NE(odd.find(line), std::string::npos) << line << "\n" << odd;
  }
  EXPECT_NE(of(64, "float16", "cutlass -arch=sm_86").find("ConvSm80<"), std::string::npos);
  EXPECT_NE(of(64, "float32", "cutlass").find("OpMultiplyAddFastF32"), std::string::npos);
  EXPECT_NE(of(64, "float16", "cutlass").find("ConvSm90<"), std::string::npos);
}

TEST(CutlassConvolutions, RefusalsHaveReasons) {
  const auto reason = [](const std::string& text, const Target& target = Target("cutlass")) {
    RecordingToolchain toolchain;
    const auto outcome = compile(text, toolchain, target);
    return outcome.refusals.empty() ? "" : outcome.refusals.front().reason;
  };
  EXPECT_EQ(reason("def @main(%x: Tensor[(1, 8, 9, 9), float16], %w: Tensor[(8, 8, 3, 3), float16])"
                   " { nn.conv2d(%x, %w) }"),
            "the data layout is NCHW, not NHWC");
  EXPECT_EQ(reason("def @main(%x: Tensor[(1, 9, 9, 8), float16], %w: Tensor[(3, 3, 8, 8), float16])"
                   " { nn.conv2d(%x, %w, data_layout=\"NHWC\", kernel_layout=\"HWIO\") }"),
            "the kernel layout is HWIO, not OHWI");
  EXPECT_EQ(reason(convolution("8, 14, 14, 64", "64, 3, 3, 1", "groups=64", "%0")),
            "the convolution has 64 groups");
  EXPECT_EQ(reason(convolution("8, ?, 14, 64", "64, 3, 3, 64", "groups=1", "%0")),
            "a size of the image or of the kernel is not known");
  EXPECT_EQ(reason(convolution("8, 64, 64, 3", "64, 33, 3, 3", "groups=1", "%0")),
            "the window is larger than 32 elements, or its padding is negative");
}

// The convolutions of ResNet-50's stages, of 32 images: eight sizes, three kernels.
TEST(CutlassConvolutions, SizesShareFewKernels) {
  std::string params, body, last;
  int count = 0;
  for (const auto& [size, channels] :
       {std::pair(56, 64), std::pair(28, 128), std::pair(14, 256), std::pair(7, 512)}) {
    for (const int stride : {1, 2}) {
      params += fmt::format(
          "{}%x{}: Tensor[(32, {}, {}, {}), float16], %w{}: Tensor[({}, 3, 3, {}), float16]",
          count == 0 ? "" : ", ", count, size * stride, size * stride, channels, count, channels,
          channels);
      body += fmt::format(
          "  %{0} = nn.conv2d(%x{0}, %w{0}, strides=[{1}, {1}], padding=[1, 1, 1, 1],"
          " data_layout=\"NHWC\", kernel_layout=\"OHWI\");\n",
          count, stride);
      last += fmt::format("{}%{}", count == 0 ? "" : ", ", count);
      ++count;
    }
  }
  const std::string model = fmt::format("def @main({}) {{\n{}  ({})\n}}", params, body, last);
  RecordingToolchain toolchain, measured_toolchain;
  const auto outcome = compile(model, toolchain);
  EXPECT_EQ(outcome.regions.size(), 8u);
  EXPECT_LE(toolchain.sources.size(), 4u);  // with the functions that call them
  // What was measured keeps its kernel, and the others share theirs all the same.
  const OneMeasurement measured("sm90_128x96x64_c1x1_implicit z1 auto", {}, "conv 32x7x7x512 ");
  compile(model, measured_toolchain, Target("cutlass"), &measured);
  EXPECT_EQ(measured.workloads.size(), 8u);
  EXPECT_LE(measured_toolchain.sources.size(), 5u);
  const std::string kernel = "sm90_128x96x64_c1x1_implicit(call, &";
  EXPECT_NE(measured_toolchain.sources.at("cutlass_regions").find(kernel), std::string::npos);
  EXPECT_EQ(toolchain.sources.at("cutlass_regions").find(kernel), std::string::npos);
}

TEST(Configurations, ConvolutionsFillTheDevice) {
  const auto best = [](std::int64_t batch, std::int64_t size, std::int64_t channels) {
    cutlass::Gemm gemm;
    gemm.m = batch * size * size, gemm.n = channels, gemm.k = 9 * channels;
    gemm.a_dtype = gemm.b_dtype = gemm.epilogue.dtype = kFloat16;
    gemm.a_align = gemm.b_align = gemm.d_align = 8;
    const ops::WindowAxis three{3, 1, 1, 1, 1};
    gemm.convolution =
        cutlass::Convolution{batch, size, size, channels, size, size, channels, {three, three}};
    const auto c = cutlass::candidates(gemm, Target("cutlass"), {}).front();
    EXPECT_EQ(cutlass::parse_configuration(c.text()), c) << c.text();
    return fmt::format("{}x{}", c.tile_m, c.tile_n);
  };
  EXPECT_EQ(best(1, 7, 512), "64x64");
  EXPECT_EQ(best(32, 56, 64), "128x64");
}

// The product that measured kernels have to agree with, against the operator's own evaluation.
TEST(CutlassConvolutions, AProductOfWhatTheWindowSeesIsTheConvolution) {
  const Module module = parse(R"(
def @main(%x: Tensor[(2, 6, 5, 3), float32], %w: Tensor[(4, 3, 2, 3), float32]) {
  nn.conv2d(%x, %w, strides=[2, 1], padding=[1, 2, 3, 0], dilation=[1, 2], data_layout="NHWC",
            kernel_layout="OHWI")
})");
  std::vector<float> x(180), w(72);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 19) - 9;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i * 23 % 11) - 5;
  const Tensor inputs[] = {Tensor::of({2, 6, 5, 3}, kFloat32, x),
                           Tensor::of({4, 3, 2, 3}, kFloat32, w)};
  const Tensor y = ops::evaluate(module, module.functions.at("main"), inputs).front();
  const tessera::cutlass::Window window = {2, 6, 5, 3, 3, 2, 4, 5, {2, 1}, {1, 2}, {1, 2, 3, 0}};
  ASSERT_EQ(y.shape, (std::vector<std::int64_t>{2, 4, 5, 4}));
  constexpr std::int64_t kDepth = 18;
  for (std::int64_t i = 0; i < y.num_elements(); ++i) {
    const std::int64_t row = i / 4, channel = i % 4;
    double sum = 0;
    for (std::int64_t k = 0; k < kDepth; ++k) {
      const std::int64_t at = tessera::cutlass::measure::place_in_image(window, row, k);
      if (at < 0) continue;
      sum +=
          x.at(static_cast<std::size_t>(at)) * w.at(static_cast<std::size_t>(channel * kDepth + k));
    }
    EXPECT_EQ(element_as_double(y, i), sum) << i;
  }
}

}  // namespace
}  // namespace tessera::backends
