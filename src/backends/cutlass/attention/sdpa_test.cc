// SPDX-License-Identifier: Apache-2.0
// Attention in the form in which PyTorch exports scaled_dot_product_attention with a mask of
// booleans: half of the scale on queries and keys each, minus infinity for keys that are hidden,
// and zeros in place of what the softmax gives where all are.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "backends/cutlass/testing/models.h"
#include "ops/evaluation/evaluate_function.h"

namespace tessera::backends {
namespace {

using cutlass::testing::compile;
using cutlass::testing::composites_of;
using cutlass::testing::parse;
using cutlass::testing::RecordingToolchain;
using Names = std::vector<std::string>;

// A layer of BERT, as passes leave it: with one product of queries, keys and values.
constexpr const char* kLayer = R"(
def @main(%x: Tensor[(2, 128, 1024), float16], %seen: Tensor[(2, 1, 1, 128), bool],
          %w: Tensor[(1024, 3072), float16], %b: Tensor[(3072), float16],
          %o: Tensor[(1024, 1024), float16], %p: Tensor[(1024), float16],
          %f: Tensor[(1024, 4096), float16], %g: Tensor[(4096), float16],
          %h: Tensor[(4096, 1024), float16], %i: Tensor[(1024), float16],
          %s: Tensor[(1024), float16], %t: Tensor[(1024), float16]) {
  %0 = add(nn.matmul(%x, %w, units=None), %b);
  %1 = strided_slice(%0, begin=[0], end=[1024], strides=[1], axes=[2]);
  %2 = transpose(reshape(%1, newshape=[2, 128, 16, 64]), axes=[0, 2, 1, 3]);
  %3 = multiply(%2, 0.3535f16);
  %4 = strided_slice(%0, begin=[1024], end=[2048], strides=[1], axes=[2]);
  %5 = transpose(reshape(%4, newshape=[2, 128, 16, 64]), axes=[0, 2, 3, 1]);
  %6 = multiply(%5, 0.3535f16);
  %7 = where(%seen, 0f16, -inff16);
  %8 = add(nn.matmul(%3, %6, units=None), %7);
  %9 = nn.softmax(%8, axis=3);
  %10 = isnan(%9);
  %11 = where(%10, 0f16, %9);
  %12 = strided_slice(%0, begin=[2048], end=[3072], strides=[1], axes=[2]);
  %13 = transpose(reshape(%12, newshape=[2, 128, 16, 64]), axes=[0, 2, 1, 3]);
  %14 = nn.matmul(%11, %13, units=None);
  %15 = reshape(transpose(%14, axes=[0, 2, 1, 3]), newshape=[2, 128, 1024]);
  %16 = add(add(nn.matmul(%15, %o, units=None), %p), %x);
  %17 = nn.layer_norm(%16, %s, %t);
  %18 = add(nn.matmul(%17, %f, units=None), %g);
  %19 = multiply(multiply(%18, add(erf(divide(%18, 1.4142f16)), 1f16)), 0.5f16);
  add(add(nn.matmul(%19, %h, units=None), %i), %17)
})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

const Names kRegions = {"cutlass.product_bias", "cutlass.attention_merged",
                        "cutlass.product_bias_residual", "cutlass.product_bias_activation",
                        "cutlass.product_bias_residual"};

TEST(ExportedSdpa, ALayerIsFiveRegions) {
  RecordingToolchain toolchain;
  const auto outcome = compile(kLayer, toolchain);
  EXPECT_EQ(composites_of(outcome), kRegions);
  EXPECT_TRUE(toolchain.sources.contains(
      "tessera_attention_float16_64_keymask_float16_sm90_64x128_SelfLoading"));
  const std::string& text = toolchain.sources.at("cutlass_regions");
  EXPECT_NE(text.find("a.mask = {data(tensors[1]), 128, 0, 0};"), std::string::npos) << text;
}

// With and without the choice after the softmax, in either type, the kernel is the same one.
TEST(ExportedSdpa, ZerosForRowsWithoutAKeyAreTheKernels) {
  RecordingToolchain guarded, plain, wide;
  compile(kLayer, guarded);
  compile(replaced(replaced(kLayer, "  %10 = isnan(%9);\n  %11 = where(%10, 0f16, %9);\n", ""),
                   "nn.matmul(%11,", "nn.matmul(%9,"),
          plain);
  const auto in_float32 = compile(
      replaced(replaced(kLayer, "%9 = nn.softmax(%8, axis=3);",
                        "%9 = nn.softmax(cast(%8, dtype=\"float32\"), axis=3);"),
               "%11 = where(%10, 0f16, %9);", "%11 = cast(where(%10, 0f, %9), dtype=\"float16\");"),
      wide);
  EXPECT_EQ(guarded.sources, plain.sources);
  EXPECT_EQ(guarded.sources, wide.sources);
  EXPECT_EQ(composites_of(in_float32), kRegions);
}

// In float32, and without wgmma, too.
TEST(ExportedSdpa, ALayerIsFiveRegionsOfAnyKernels) {
  for (const char* target : {"cutlass", "cutlass -arch=sm_80"}) {
    RecordingToolchain toolchain;
    const auto outcome =
        compile(cutlass::testing::in_float32(kLayer), toolchain, *parse_target(target));
    EXPECT_EQ(composites_of(outcome), kRegions) << target;
    EXPECT_TRUE(toolchain.sources.contains(
        "tessera_attention_float32_64_3xtf32_keymask_float32_sm80_64x64"));
  }
}

TEST(ExportedSdpa, AnotherChoiceIsNoAttention) {
  for (const char* choice : {"where(%10, 1f16, %9)", "where(%10, %9, 0f16)",
                             "where(isinf(%9), 0f16, %9)", "where(isnan(%8), 0f16, %9)"}) {
    RecordingToolchain toolchain;
    const auto names =
        composites_of(compile(replaced(kLayer, "where(%10, 0f16, %9)", choice), toolchain));
    EXPECT_EQ(names.size(), 6u) << choice;
    EXPECT_EQ(std::count(names.begin(), names.end(), "cutlass.attention_merged"), 0) << choice;
  }
}

// What the kernel has to agree with, in the first row; without the choice it is NaN.
TEST(ExportedSdpa, TheReferenceHasZerosToo) {
  const auto first_row = [](const std::string& weights) {
    const Module module = parse(
        "def @main(%s: Tensor[(2, 2), float32], %v: Tensor[(2, 2), float32]) {\n"
        "  %0 = nn.softmax(%s, axis=1);\n  %1 = isnan(%0);\n  nn.matmul(" +
        weights + ", %v, units=None)\n}");
    constexpr double kHidden = -INFINITY;
    const double scores[] = {kHidden, kHidden, kHidden, 0}, values[] = {1, 2, 3, 4};
    const Tensor inputs[] = {tensor_from_doubles({2, 2}, kFloat32, scores),
                             tensor_from_doubles({2, 2}, kFloat32, values)};
    const Tensor y = ops::evaluate(module, module.functions.at("main"), inputs).front();
    EXPECT_EQ(element_as_double(y, 2), 3);
    return element_as_double(y, 0);
  };
  EXPECT_EQ(first_row("where(%1, 0f, %0)"), 0);
  EXPECT_TRUE(std::isnan(first_row("%0")));
}

}  // namespace
}  // namespace tessera::backends
