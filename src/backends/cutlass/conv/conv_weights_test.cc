// SPDX-License-Identifier: Apache-2.0
// Gradients of convolutions by their weights, without a device: what the back end takes, and how
// their sums are cut up.
#include <gtest/gtest.h>

#include "backends/cutlass/gemm/configuration.h"
#include "backends/cutlass/gemm/time_model.h"
#include "backends/cutlass/kernels/measure_window.h"
#include "backends/cutlass/testing/integers.h"
#include "backends/cutlass/testing/kernel_test.h"
#include "backends/cutlass/testing/tuning_tasks.h"
#include "link/toolchain.h"
#include "ops/evaluation/evaluate_function.h"

namespace tessera::backends {
namespace {

using cutlass::testing::can_compile;
using cutlass::testing::compile;
using cutlass::testing::composites_of;
using cutlass::testing::expect_lines;
using cutlass::testing::has_nvcc;
using cutlass::testing::kernel_of;
using cutlass::testing::kernels_in;
using cutlass::testing::OneMeasurement;
using cutlass::testing::parse;
using cutlass::testing::RecordingToolchain;
using cutlass::testing::tasks_of;
using Names = std::vector<std::string>;

constexpr const char* kWeightsPrefix = "tessera_conv_";

// A gradient of three by three, padded by one. %v is as large as the result, %r a row of it.
std::string gradient(const std::string& grad, const std::string& data,
                     const std::string& epilogue = "%0", const std::string& dtype = "float16",
                     const std::string& attrs = "kernel_layout=\"NHWC\", padding=[1, 1, 1, 1]") {
  return fmt::format(
      "def @main(%g: Tensor[({0}), {3}], %x: Tensor[({1}), {3}],\n"
      "          %v: Tensor[(64, 3, 3, 64), float32], %r: Tensor[(64), float32]) {{\n"
      "  %0 = nn.conv2d_backward_weight(%g, %x, kernel_size=[3, 3], data_layout=\"NHWC\", {4});\n"
      "  {2}\n}}",
      grad, data, epilogue, dtype, attrs);
}
std::string usual(const std::string& epilogue = "%0") {
  return gradient("32, 28, 28, 64", "32, 28, 28, 64", epilogue);
}

TEST(CutlassWeightGradients, AreOneRegion) {
  const auto of = [](const std::string& text) {
    RecordingToolchain toolchain;
    return composites_of(compile(text, toolchain));
  };
  EXPECT_EQ(of(usual()), Names{"cutlass.conv2d_backward_weight"});
  EXPECT_EQ(of(usual("cast(%0, dtype=\"float32\")")),
            Names{"cutlass.conv2d_backward_weight_epilogue"});
  // A step of a descent is as large as the weights; a row of them is none of the result's.
  EXPECT_EQ(of(usual("subtract(%v, multiply(cast(%0, dtype=\"float32\"), 0.1f))")),
            Names{"cutlass.conv2d_backward_weight_epilogue"});
  EXPECT_EQ(of(usual("add(cast(%0, dtype=\"float32\"), %r)")),
            Names{"cutlass.conv2d_backward_weight_epilogue"});
  EXPECT_EQ(of(gradient("8, 14, 14, 64", "8, 14, 14, 64", "%0", "float16",
                        "kernel_layout=\"OHWI\", padding=[1, 1, 1, 1]")),
            Names{"cutlass.conv2d_backward_weight"});
}

TEST(CutlassWeightGradients, AnOperandThatIsNotAsLargeStaysBehind) {
  RecordingToolchain toolchain;
  compile(usual("add(cast(%0, dtype=\"float32\"), %r)"), toolchain);
  expect_lines(kernel_of(toolchain, kWeightsPrefix), {"InputList<>", "using D = float;"});
}

TEST(CutlassWeightGradients, SumsAreSplitWhereTilesAreFew) {
  RecordingToolchain toolchain;
  const auto outcome = compile(usual(), toolchain, *parse_target("cutlass -accumulator=float16"));
  expect_lines(kernel_of(toolchain, kWeightsPrefix),
               {"kernels/conv_weights_sm80.cuh", "ConvWeightsSm80<", "using Sum = float;",
                "kAlignA = 8, kAlignB = 8, kAlignD = 8"});
  expect_lines(toolchain.sources.at("cutlass_regions"),
               {"m = 64, n = 576, k = 25088, batch = 1;", "g.splits = ",
                "g.window = {32, 28, 28, 64, 3, 3, 28, 28, {1, 1}, {1, 1}, {1, 1, 1, 1}};"});
  ASSERT_EQ(outcome.module.externs.size(), 1u);
  EXPECT_GT(outcome.module.externs.begin()->second.workspace.bytes, 0);
}

cutlass::Gemm usual_gemm() {
  cutlass::Gemm gemm;
  gemm.m = 64, gemm.n = 576, gemm.k = 25088;
  gemm.a_dtype = gemm.b_dtype = gemm.epilogue.dtype = kFloat16;
  gemm.a_align = gemm.b_align = gemm.d_align = 8;
  gemm.a_is_column_major = gemm.b_is_row_major = true;
  const ops::WindowAxis three{3, 1, 1, 1, 1};
  gemm.convolution = cutlass::Convolution{
      32, 28, 28, 64, 28, 28, 64, {three, three}, cutlass::ConvolutionKind::kWeightGradient};
  return gemm;
}

TEST(CutlassWeightGradients, TheModelChoosesAmongSplits) {
  const cutlass::Gemm gemm = usual_gemm();
  const Target open("cutlass");
  const auto best = cutlass::candidates(gemm, open, {}).front();
  EXPECT_EQ(cutlass::parse_configuration(best.text()), best) << best.text();
  EXPECT_GT(best.splits, 2);
  cutlass::Configuration whole = best;
  whole.splits = 1;
  EXPECT_LT(cutlass::estimated_microseconds(gemm, best, {}),
            cutlass::estimated_microseconds(gemm, whole, {}));
  // Sums of float32 of all parts of all tiles, and a number for each tile.
  const std::int64_t rows = (64 + best.tile_m - 1) / best.tile_m;
  const std::int64_t tiles = rows * ((576 + best.tile_n - 1) / best.tile_n);
  EXPECT_EQ(cutlass::workspace_bytes(gemm, best),
            tiles * (4 * best.splits * best.tile_m * best.tile_n + 4));
  EXPECT_EQ(cutlass::workspace_bytes(gemm, whole), 0);
  // Measured are the neighbours, and none.
  std::vector<int> splits;
  for (const auto& launch : cutlass::launches(gemm, best, open)) splits.push_back(launch.splits);
  EXPECT_EQ(splits, (std::vector<int>{best.splits, 1, best.splits / 2, best.splits * 2}));
}

TEST(CutlassWeightGradients, SplitsMayBeGiven) {
  const cutlass::Gemm gemm = usual_gemm();
  const Target given = *parse_target("cutlass -split_k_slices=1,3,100000");
  for (const auto& c : cutlass::candidates(gemm, given, {})) EXPECT_EQ(c.splits, 3) << c.text();
  const auto launches =
      cutlass::launches(gemm, cutlass::candidates(gemm, given, {}).front(), given);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[1].splits, 1);
  // A result with tiles for all multiprocessors needs none.
  cutlass::Gemm wide = gemm;
  wide.m = 2048, wide.n = 18432;
  wide.convolution->channels = wide.convolution->out_channels = 2048;
  EXPECT_EQ(cutlass::candidates(wide, Target("cutlass"), {}).front().splits, 1);
}

TEST(CutlassWeightGradients, WhatWasMeasuredIsTaken) {
  const OneMeasurement measured("sm80_128x64x32_w64x32_s4 z1 auto split16", {},
                                "conv weights 32x28x28x64 by 3x3");
  RecordingToolchain toolchain;
  compile(usual(), toolchain, Target("cutlass"), &measured);
  EXPECT_EQ(measured.workloads,
            (std::set<std::string>{"conv weights 32x28x28x64 by 3x3 strides 1x1 dilation 1x1 "
                                   "padding 1,1,1,1 channels 64 window of weights"}));
  expect_lines(toolchain.sources.at("cutlass_regions"), {"g.splits = 16;", "sm80_128x64x32"});
}

// A window of one element that moves by one: both factors lie across K.
TEST(CutlassWeightGradients, AWindowOfOneElementIsAProduct) {
  RecordingToolchain toolchain;
  compile(
      "def @main(%g: Tensor[(8, 28, 28, 128), float16], %x: Tensor[(8, 28, 28, 64), float16]) {\n"
      "  nn.conv2d_backward_weight(%g, %x, kernel_size=[1, 1], data_layout=\"NHWC\", "
      "kernel_layout=\"NHWC\")\n}",
      toolchain);
  expect_lines(kernel_of(toolchain), {"LayoutA = ::cutlass::layout::ColumnMajor",
                                      "LayoutB = ::cutlass::layout::RowMajor"});
  expect_lines(toolchain.sources.at("cutlass_regions"), {"m = 128, n = 64, k = 6272, batch = 1;"});
}

TEST(CutlassWeightGradients, RefusalsHaveReasons) {
  const auto reason = [](const std::string& text) {
    RecordingToolchain toolchain;
    const auto outcome = compile(text, toolchain);
    return outcome.refusals.empty() ? "" : outcome.refusals.front().reason;
  };
  EXPECT_EQ(reason(gradient("8, 14, 14, 64", "8, 14, 14, 64", "%0", "float16",
                            "kernel_layout=\"NHWC\", out_layout=\"HWIO\", padding=[1, 1, 1, 1]")),
            "the kernel layout is HWIO, not OHWI");
  EXPECT_EQ(reason(gradient("8, 14, 14, 64", "8, 14, 14, 64", "%0", "float16",
                            "kernel_layout=\"NHWC\", groups=64, padding=[1, 1, 1, 1]")),
            "the convolution has 64 groups");
  EXPECT_EQ(reason("#[symbol n = 1..32 : 8]\n" + gradient("?n, 14, 14, 64", "?n, 14, 14, 64")),
            "the number of images to sum over is not known");
}

// The product that measured kernels have to agree with, against the operator's own evaluation.
TEST(CutlassWeightGradients, AProductOfPlacesAndWhatTheySeeIsTheGradient) {
  const Module module = parse(R"(
def @main(%g: Tensor[(2, 3, 3, 4), float32], %x: Tensor[(2, 6, 5, 3), float32]) {
  nn.conv2d_backward_weight(%g, %x, kernel_size=[3, 2], strides=[2, 2], padding=[1, 1, 1, 1],
                            dilation=[1, 2], data_layout="NHWC", kernel_layout="NHWC")
})");
  std::vector<float> g(72), x(180);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = static_cast<float>(i * 23 % 11) - 5;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 19) - 9;
  const Tensor inputs[] = {Tensor::of({2, 3, 3, 4}, kFloat32, g),
                           Tensor::of({2, 6, 5, 3}, kFloat32, x)};
  const Tensor w = ops::evaluate(module, module.functions.at("main"), inputs).front();
  ASSERT_EQ(w.shape, (std::vector<std::int64_t>{4, 3, 2, 3}));
  const tessera::cutlass::Window window = {2, 6, 5, 3, 3, 2, 3, 3, {2, 2}, {1, 2}, {1, 1, 1, 1}};
  constexpr std::int64_t kColumns = 18, kPlaces = 18;
  for (std::int64_t i = 0; i < w.num_elements(); ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < kPlaces; ++k) {
      const std::int64_t at = tessera::cutlass::measure::place_in_image(window, k, i % kColumns);
      if (at < 0) continue;
      sum +=
          g.at(static_cast<std::size_t>(k * 4 + i / kColumns)) * x.at(static_cast<std::size_t>(at));
    }
    EXPECT_EQ(element_as_double(w, i), sum) << i;
  }
}

// Those of other sizes are measured by the same program.
TEST(CutlassWeightGradients, AreMeasuredOnTheImageThatTheWindowSees) {
  const auto tasks = tasks_of(usual());
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].title,
            "32x28x28x64 by 3x3 strides 1x1 dilation 1x1 padding 1,1,1,1, 64 channels float16: "
            "nn.conv2d_backward_weight");
  expect_lines(tasks[0].program.source.text(),
               {"kGathered = Gathered::kImageAsB;", "kAIsColumnMajor = true"});
  EXPECT_EQ(tasks[0].program.source.text(),
            tasks_of(gradient("8, 14, 14, 64", "8, 14, 14, 64"))[0].program.source.text());
  const std::size_t first[] = {0};
  expect_lines(tasks[0].table(first).source.text(),
               {"64, 576, 25088, 1,  // m, n, k, batch",
                "{32, 28, 28, 64, 3, 3, 28, 28, {1, 1}, {1, 1}, {1, 1, 1, 1}}};"});
}

// ---- With nvcc

TEST(SlowKernels, OfWeightGradientsCompile) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 1});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  const auto outcome = compile(usual("cast(%0, dtype=\"float32\")"), *toolchain);
  for (const auto& refusal : outcome.refusals) ADD_FAILURE() << refusal.reason;
  ASSERT_EQ(outcome.module.artifacts.size(), 1u);
  EXPECT_EQ(kernels_in(outcome.module.artifacts[0].payload, "tessera_conv_float16"), 1);
}

TEST(SlowKernels, OfWeightGradientsAreMeasuredByProgramsThatCompile) {
  if (!has_nvcc()) GTEST_SKIP() << "there is no nvcc";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 2});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  const auto jobs = {
      tasks_of(usual()).front().program,
      tasks_of("def @main(%x: Tensor[(8, 14, 14, 64), float16], %w: Tensor[(64, 2, 2, 64), "
               "float16]) { nn.conv2d_transpose(%x, %w, strides=[2, 2], data_layout=\"NHWC\", "
               "kernel_layout=\"IHWO\") }")
          .front()
          .program};
  const auto objects = toolchain->compile(jobs);
  EXPECT_TRUE(objects) << render(objects.error());
}

}  // namespace
}  // namespace tessera::backends
