// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions of the back end without a device: what it takes, what text it makes, and
// where rows of its kernels are.
#include <set>

#include <gtest/gtest.h>

#include "backends/cutlass/gemm/configuration.h"
#include "backends/cutlass/gemm/time_model.h"
#include "backends/cutlass/kernels/class_of_places.h"
#include "backends/cutlass/kernels/measure_window.h"
#include "backends/cutlass/testing/integers.h"
#include "backends/cutlass/testing/kernel_test.h"
#include "backends/cutlass/testing/tuning_tasks.h"
#include "link/toolchain.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"

namespace tessera::backends {
namespace {

using cutlass::testing::can_compile;
using cutlass::testing::compile;
using cutlass::testing::composites_of;
using cutlass::testing::expect_lines;
using cutlass::testing::kernel_of;
using cutlass::testing::kernels_in;
using cutlass::testing::parse;
using cutlass::testing::RecordingToolchain;
using cutlass::testing::tasks_of;
using Names = std::vector<std::string>;

constexpr const char* kPrefix = "tessera_conv_";

// One of `x` and `kernel`, I, H, W, O, with what is said after it; %y is as large as the result of
// two by two with stride two, %s has a number for each of its images.
std::string transposed(const std::string& x, const std::string& kernel, const std::string& attrs,
                       const std::string& epilogue = "%0", const std::string& dtype = "float16") {
  return fmt::format(
      "def @main(%x: Tensor[({0}), {4}], %w: Tensor[({1}), {4}], %b: Tensor[(64), {4}],\n"
      "          %y: Tensor[(8, 28, 28, 64), {4}], %s: Tensor[(8, 1, 1, 64), {4}],\n"
      "          %p: Tensor[(8, 28, 28, 1), {4}]) {{\n"
      "  %0 = nn.conv2d_transpose(%x, %w, {2}, data_layout=\"NHWC\", kernel_layout=\"IHWO\");\n"
      "  {3}\n}}",
      x, kernel, attrs, epilogue, dtype);
}

std::string doubling(const std::string& epilogue, const std::string& dtype = "float16") {
  return transposed("8, 14, 14, 128", "128, 2, 2, 64", "strides=[2, 2]", epilogue, dtype);
}

TEST(CutlassTransposedConvolutions, EpiloguesAreThoseOfProducts) {
  const auto of = [](const std::string& epilogue) {
    RecordingToolchain toolchain;
    return composites_of(compile(doubling(epilogue), toolchain));
  };
  EXPECT_EQ(of("%0"), Names{"cutlass.conv2d_transpose"});
  EXPECT_EQ(of("nn.relu(nn.bias_add(%0, %b, axis=3))"),
            Names{"cutlass.conv2d_transpose_bias_activation"});
  EXPECT_EQ(of("add(nn.relu(add(%0, %b)), %y)"),
            Names{"cutlass.conv2d_transpose_bias_activation_residual"});
  EXPECT_EQ(of("nn.relu(add(%y, add(%0, %b)))"),
            Names{"cutlass.conv2d_transpose_bias_residual_activation"});
  EXPECT_EQ(of("nn.elu(multiply(nn.relu(add(%0, %b)), %p))"),
            Names{"cutlass.conv2d_transpose_epilogue"});
  // Each image has a row of its own: not what an epilogue can read.
  EXPECT_EQ(of("add(%0, %s)"), Names{"cutlass.conv2d_transpose"});
}

// The text of the one kernel, and of the function that calls it.
struct Sources {
  std::string kernel, regions;
};
Sources sources_of(const std::string& text, const std::string& target = "cutlass") {
  RecordingToolchain toolchain;
  const auto outcome = compile(text, toolchain, *parse_target(target));
  for (const auto& refusal : outcome.refusals) ADD_FAILURE() << refusal.reason;
  EXPECT_EQ(toolchain.sources.size(), 2u);
  return {kernel_of(toolchain, kPrefix), toolchain.sources.at("cutlass_regions")};
}

TEST(CutlassTransposedConvolutions, StridedOnesHaveAKernelOfTheirOwn) {
  const Sources strided = sources_of(doubling("nn.relu(add(%0, %b))"));
  expect_lines(strided.kernel, {"kernels/conv_transpose_sm80.cuh", "ConvTransposeSm80<",
                                "kIsStrided = true", "kAlignA = 8, kAlignB = 8, kAlignD = 8"});
  // The window is that of the convolution whose image is the result; K goes over the data.
  expect_lines(strided.regions,
               {"m = 6272, n = 64, k = 512, batch = 1;",
                "g.window = {8, 28, 28, 64, 2, 2, 14, 14, {2, 2}, {1, 1}, {0, 0, 0, 0}};"});
  const Sources unit = sources_of(
      transposed("8, 14, 14, 128", "128, 3, 3, 64", "padding=[1, 1, 1, 1], dilation=[2, 2]"));
  expect_lines(unit.kernel, {"kIsStrided = false"});
  expect_lines(unit.regions,
               {"g.window = {8, 16, 16, 64, 3, 3, 14, 14, {1, 1}, {2, 2}, {1, 1, 1, 1}};"});
  const Sources odd = sources_of(transposed("1, 5, 7, 36", "36, 3, 3, 50",
                                            "strides=[2, 1], padding=[1, 0, 0, 1], "
                                            "output_padding=[1, 0]",
                                            "%0", "bfloat16"));
  expect_lines(odd.kernel, {"kIsStrided = true", "kAlignA = 4, kAlignB = 2, kAlignD = 2"});
  expect_lines(odd.regions,
               {"g.window = {1, 11, 8, 50, 3, 3, 5, 7, {2, 1}, {1, 1}, {1, 0, 0, 1}};"});
}

TEST(CutlassTransposedConvolutions, SizesShareAKernel) {
  RecordingToolchain toolchain;
  const auto outcome = compile(R"(
def @main(%x: Tensor[(8, 14, 14, 64), float16], %w: Tensor[(64, 2, 2, 64), float16],
          %v: Tensor[(64, 4, 4, 64), float16], %u: Tensor[(64, 3, 3, 64), float16]) {
  %0 = nn.conv2d_transpose(%x, %w, strides=[2, 2], data_layout="NHWC", kernel_layout="IHWO");
  %1 = nn.conv2d_transpose(%0, %v, strides=[2, 2], padding=[1, 1, 1, 1], data_layout="NHWC",
                           kernel_layout="IHWO");
  nn.conv2d_transpose(%1, %u, strides=[3, 3], data_layout="NHWC", kernel_layout="IHWO")
})",
                               toolchain);
  EXPECT_EQ(outcome.regions.size(), 3u);
  EXPECT_LE(toolchain.sources.size(), 4u);  // with the functions that call them
}

TEST(CutlassTransposedConvolutions, TheBatchMayBeASymbol) {
  const Sources text = sources_of(
      "#[symbol n = 1..32 : 8]\n"
      "def @main(%x: Tensor[(?n, 14, 14, 64), float16], %w: Tensor[(64, 2, 2, 64), float16]) "
      "{ nn.conv2d_transpose(%x, %w, strides=[2, 2], data_layout=\"NHWC\", kernel_layout=\"IHWO\") "
      "}");
  expect_lines(text.regions, {"g.window = {static_cast<int32_t>(size(tensors[0], 0, 1)), 28, 28,",
                              "m = size(tensors[2], 0, 3)"});
}

// A window of one element that moves by one: B lies along N.
TEST(CutlassTransposedConvolutions, AWindowOfOneElementIsAProduct) {
  RecordingToolchain toolchain;
  const auto outcome =
      compile(transposed("8, 28, 28, 128", "128, 1, 1, 64", "groups=1", "add(%0, %y)"), toolchain);
  EXPECT_EQ(composites_of(outcome), Names{"cutlass.conv2d_transpose_bias"});
  expect_lines(kernel_of(toolchain), {"LayoutB = ::cutlass::layout::RowMajor"});
}

TEST(CutlassTransposedConvolutions, RefusalsHaveReasons) {
  const auto reason = [](const std::string& text) {
    RecordingToolchain toolchain;
    const auto outcome = compile(text, toolchain);
    return outcome.refusals.empty() ? "" : outcome.refusals.front().reason;
  };
  EXPECT_EQ(reason("def @main(%x: Tensor[(1, 8, 9, 9), float16], %w: Tensor[(8, 8, 3, 3), float16])"
                   " { nn.conv2d_transpose(%x, %w) }"),
            "the data layout is NCHW, not NHWC");
  EXPECT_EQ(
      reason("def @main(%x: Tensor[(1, 9, 9, 8), float16], %w: Tensor[(3, 3, 8, 4), float16])"
             " { nn.conv2d_transpose(%x, %w, data_layout=\"NHWC\", kernel_layout=\"HWIO\") }"),
      "the kernel layout is HWIO, not IHWO");
  EXPECT_EQ(reason(transposed("8, 14, 14, 64", "64, 3, 3, 1", "groups=64")),
            "the convolution has 64 groups");
  EXPECT_EQ(reason(transposed("8, 14, 14, 64", "64, 3, 3, 8", "strides=[2, 2], dilation=[2, 1]")),
            "there is no kernel for strides with dilation");
  EXPECT_EQ(reason(transposed("8, 14, 14, 64", "64, 33, 3, 8", "strides=[2, 2]")),
            "the window is larger than 32 elements, or its padding is negative");
  EXPECT_EQ(reason(transposed("8, 14, 14, 64", "64, 3, 3, 8", "out_dtype=\"int32\"", "%0", "int8")),
            "a product of int8 needs operands that lie along K");
}

// ---- What stands for the kernels on the host

std::vector<float> numbers(std::size_t count, int factor, int modulus) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    const int number = static_cast<int>(i) * factor % modulus - modulus / 2;
    x[i] = static_cast<float>(number);
  }
  return x;
}

// The product that measured kernels have to agree with, against the operator's own evaluation.
TEST(CutlassTransposedConvolutions, AProductOfWhatReachesAPlaceIsTheConvolution) {
  const Module module = parse(R"(
def @main(%x: Tensor[(2, 4, 5, 3), float32], %w: Tensor[(3, 3, 2, 4), float32]) {
  nn.conv2d_transpose(%x, %w, strides=[2, 3], padding=[1, 0, 0, 1], output_padding=[1, 2],
                      data_layout="NHWC", kernel_layout="IHWO")
})");
  const auto x = numbers(120, 37, 19), w = numbers(72, 23, 11);
  const Tensor inputs[] = {Tensor::of({2, 4, 5, 3}, kFloat32, x),
                           Tensor::of({3, 3, 2, 4}, kFloat32, w)};
  const Tensor y = ops::evaluate(module, module.functions.at("main"), inputs).front();
  ASSERT_EQ(y.shape, (std::vector<std::int64_t>{2, 9, 15, 4}));
  const tessera::cutlass::Window window = {2, 9, 15, 4, 3, 2, 4, 5, {2, 3}, {1, 1}, {1, 0, 0, 1}};
  using tessera::cutlass::measure::place_in_data;
  using tessera::cutlass::measure::place_in_transposed_kernel;
  constexpr std::int64_t kChannels = 3, kDepth = 18;
  for (std::int64_t i = 0; i < y.num_elements(); ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < kDepth; ++k) {
      const std::int64_t at = place_in_data(window, kChannels, i / 4, k);
      const std::int64_t by = place_in_transposed_kernel(window, kChannels, k, i % 4);
      if (at >= 0) sum += x.at(static_cast<std::size_t>(at)) * w.at(static_cast<std::size_t>(by));
    }
    EXPECT_EQ(element_as_double(y, i), sum) << i;
  }
}

// What the epilogue of a strided kernel writes is everything, and each place once; those of a class
// are reached by the same elements of the window.
TEST(CutlassTransposedConvolutions, ClassesOfPlacesAreTheResult) {
  std::set<std::int64_t> rows;
  std::int64_t count = 0;
  for (const int first_y : {0, 1}) {
    for (const int first_x : {0, 1, 2}) {
      const tessera::cutlass::ClassOfPlaces places{2, 8, 7, 8, first_y, first_x, 2, 3};
      count += places.rows();
      for (int i = 0; i < places.rows(); ++i) {
        const std::int64_t row = places.row(i);
        EXPECT_EQ(row % 8 % 3, first_x);
        EXPECT_EQ(row / 8 % 7 % 2, first_y);
        EXPECT_TRUE(i == 0 || places.row(i - 1) < row);  // in the order of the iterators
        rows.insert(row);
      }
    }
  }
  EXPECT_EQ(count, 2 * 7 * 8);
  EXPECT_EQ(rows.size(), 2u * 7 * 8);
  EXPECT_EQ(*rows.rbegin(), 2 * 7 * 8 - 1);
}

// ---- The choice of a kernel

cutlass::Gemm doubling_gemm(std::int64_t batch, std::int64_t size, std::int64_t channels,
                            std::int64_t window) {
  cutlass::Gemm gemm;
  gemm.m = batch * size * size * 4, gemm.n = channels, gemm.k = window * window * channels;
  gemm.a_dtype = gemm.b_dtype = gemm.epilogue.dtype = kFloat16;
  gemm.a_align = gemm.b_align = gemm.d_align = 8;
  gemm.b_is_row_major = true;
  const ops::WindowAxis axis{window, 2, 1, 0, 0};
  gemm.convolution =
      cutlass::Convolution{batch,    2 * size,     2 * size,
                           channels, size,         size,
                           channels, {axis, axis}, cutlass::ConvolutionKind::kTransposed};
  return gemm;
}

TEST(CutlassTransposedConvolutions, ClassesHaveTilesOfTheirOwn) {
  const cutlass::Gemm gemm = doubling_gemm(1, 10, 64, 2);
  cutlass::Configuration c;
  c.schedule = cutlass::Schedule::kMultistage;
  c.tile_m = 64, c.tile_n = 64, c.tile_k = 32;
  EXPECT_EQ(cutlass::tiles_of(gemm, c), 4 * 2);  // 100 rows each
  for (const auto& found : cutlass::candidates(gemm, Target("cutlass"), {})) {
    EXPECT_EQ(found.schedule, cutlass::Schedule::kMultistage);
    EXPECT_EQ(cutlass::parse_configuration(found.text()), found);
    EXPECT_EQ(cutlass::workspace_bytes(gemm, found), 0);
  }
  EXPECT_EQ(cutlass::launches(gemm, c, Target("cutlass")).size(), 1u);
  // Each place is reached by one element of two by two, or by four of four by four.
  const cutlass::Gemm large = doubling_gemm(32, 56, 256, 2), longer = doubling_gemm(32, 56, 256, 4);
  const double ratio = cutlass::estimated_microseconds(longer, c, {}) /
                       cutlass::estimated_microseconds(large, c, {});
  EXPECT_GT(ratio, 2.5);
  EXPECT_LT(ratio, 4);
  EXPECT_EQ(cutlass::launches(large, c, Target("cutlass")).size(), 1u);  // there are no bands
}

TEST(CutlassTransposedConvolutions, AreMeasuredOnThePlacesThatReachTheResult) {
  const auto tasks = tasks_of(doubling("nn.relu(add(%0, %b))"));
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].title,
            "8x14x14x128 to 28x28 by 2x2 strides 2x2 dilation 1x1 padding 0,0,0,0, 64 channels "
            "float16: nn.conv2d_transpose, add, nn.relu");
  EXPECT_TRUE(tasks[0].workload.text().starts_with(
      "conv transposed 8x14x14x128 to 28x28 by 2x2 strides 2x2 dilation 1x1 padding 0,0,0,0 "
      "channels 64 window transposed strided a=float16:row:8 b=float16:row:8"))
      << tasks[0].workload.text();
  expect_lines(tasks[0].program.source.text(), {"kGathered = Gathered::kPlaces;"});
}

// ---- From models

// A decoder's step as an ONNX model brings it: NCHW, an upsampling with its bias and activation.
TEST(CutlassTransposedConvolutions, NchwBecomesOneKernelBetweenTransposes) {
  std::string desired;
  for (const std::string& layout : cutlass_backend().layouts(Target("cutlass"))) {
    desired += (desired.empty() ? "" : ",") + layout;
  }
  const Module module = parse(R"(
def @main(%x: Tensor[(1, 8, 5, 4), float16], %w: Tensor[(8, 16, 2, 3), float16],
          %b: Tensor[(16), float16], %v: Tensor[(8, 16, 3, 3), float16]) {
  %0 = nn.conv2d_transpose(%x, %w, channels=16, kernel_size=[2, 3], strides=[2, 2]);
  %1 = nn.relu(nn.bias_add(%0, %b));
  nn.relu(nn.conv2d(%1, %v, padding=[1, 1, 1, 1]))
})");
  const auto calls = passes::parse_pipeline(
      fmt::format("convert-layout{{desired=[{}]}},simplify-expr,eliminate-dead-code", desired),
      passes::all_passes());
  auto out = passes::run_passes(module, *calls, ops::operators());
  ASSERT_TRUE(out) << render(out.error());
  auto inferred = ops::infer_types(std::move(out->module));
  ASSERT_TRUE(inferred) << render(inferred.error());
  const auto half = [](std::vector<std::int64_t> shape, int factor) {
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    const auto values = numbers(static_cast<std::size_t>(count), factor, 5);
    return tensor_from_doubles(shape, kFloat16, std::vector<double>(values.begin(), values.end()));
  };
  const Tensor inputs[] = {half({1, 8, 5, 4}, 37), half({8, 16, 2, 3}, 23), half({16}, 3),
                           half({8, 16, 3, 3}, 11)};
  const Tensor wanted = ops::evaluate(module, module.functions.at("main"), inputs).front();
  const Tensor found = ops::evaluate(*inferred, inferred->functions.at("main"), inputs).front();
  EXPECT_EQ(found.shape, wanted.shape);
  EXPECT_EQ(ops::largest_difference(found, wanted), 0);
  RecordingToolchain toolchain;
  const auto outcome = compile(*std::move(inferred), toolchain);
  EXPECT_EQ(composites_of(outcome),
            (Names{"cutlass.conv2d_transpose_bias_activation", "cutlass.conv2d_activation"}));
}

// ---- With nvcc

// One kernel of each kind: with all that reads a class's rows, and rows of single elements, which
// go through registers.
TEST(SlowKernels, OfTransposedConvolutionsCompile) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 1});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  const std::string all = "multiply(add(nn.relu(add(%0, %b)), %y), %p)";
  const struct {
    std::string text, prefix;
  } cases[] = {
      {doubling(all), "tessera_conv_float16"},
      {transposed("1, 5, 7, 37", "37, 3, 3, 3", "strides=[2, 2]", "%0", "bfloat16"),
       "tessera_conv_bfloat16"},
      {transposed("1, 9, 9, 64", "64, 3, 3, 64", "padding=[1, 1, 1, 1]", "nn.relu(add(%0, %b))",
                  "float32"),
       "tessera_conv_float32"},
  };
  for (const auto& [text, prefix] : cases) {
    const auto outcome = compile(text, *toolchain);
    for (const auto& refusal : outcome.refusals) ADD_FAILURE() << refusal.reason;
    ASSERT_EQ(outcome.module.artifacts.size(), 1u) << prefix;
    EXPECT_EQ(kernels_in(outcome.module.artifacts[0].payload, prefix), 1) << prefix;
  }
}

}  // namespace
}  // namespace tessera::backends
