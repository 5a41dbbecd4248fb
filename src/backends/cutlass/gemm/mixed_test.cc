// SPDX-License-Identifier: Apache-2.0
// Products by weights of a few bits: what is taken as one kernel, what that computes, and how it is
// cut up.
#include <algorithm>

#include <gtest/gtest.h>

#include "backends/cutlass/gemm/configuration.h"
#include "backends/cutlass/testing/kernel_test.h"
#include "backends/cutlass/testing/models.h"
#include "link/toolchain.h"
#include "support/testing/golden.h"

namespace tessera::backends {
namespace {

using cutlass::testing::can_compile;
using cutlass::testing::compile;
using cutlass::testing::composites_of;
using cutlass::testing::expect_in;
using cutlass::testing::kernels_in;
using cutlass::testing::RecordingToolchain;

// All that an epilogue reads, behind weights with offsets.
constexpr const char* kByInt4 = R"(
def @main(%x: Tensor[(2, 64, 256), float16], %w: Tensor[(512, 128), int8],
          %s: Tensor[(2, 4, 512), float16], %b: Tensor[(512), float16],
          %r: Tensor[(2, 64, 512), float16], %g: Tensor[(2, 64, 512), float16],
          %c: Tensor[(2, 64, 1), float16]) {
  %0 = qnn.dense_mixed(%x, %w, %s, block_size=64, bits=4);
  %1 = nn.gelu(add(%0, %b));
  multiply(multiply(add(%1, %r), %g), %c)
})";
// Scales alone, and these wider than the data.
constexpr const char* kByInt8 = R"(
def @main(%x: Tensor[(40, 384), bfloat16], %w: Tensor[(1024, 384), int8],
          %s: Tensor[(1, 3, 1024), float32]) {
  qnn.dense_mixed(%x, %w, %s, block_size=128)
})";

std::string source_in(const RecordingToolchain& toolchain, std::string_view name) {
  for (const auto& [job, source] : toolchain.sources) {
    if (job.starts_with(name)) return job + "\n" + source;
  }
  return "";
}

TEST(CutlassMixed, AProductWithItsEpilogueIsOneKernel) {
  RecordingToolchain toolchain;
  const auto outcome = compile(kByInt4, toolchain);
  EXPECT_EQ(composites_of(outcome), (std::vector<std::string>{"cutlass.mixed_product_epilogue"}));
  expect_in(
      source_in(toolchain, "tessera_gemm_"),
      {"tessera_gemm_float16_", "gemm_mixed_sm90.cuh", "b=int4:column:32", "scales=float16:offsets",
       "using A = ::cutlass::half_t;", "using B = ::cutlass::int4b_t;", "using Sum = float;",
       "kAlignA = 8, kAlignB = 32, kAlignD = 8;", "using Scale = ::cutlass::half_t;",
       "kHasOffsets = true;", "using Launcher = GemmMixedSm90<Problem, Config, Function>;",
       "InputList<Row<::cutlass::half_t>, Full<::cutlass::half_t>, "
       "Full<::cutlass::half_t>, Column<::cutlass::half_t>>;"});
  expect_in(source_in(toolchain, "cutlass_regions"),
            {"const int64_t m = 128, n = 512, k = 256, batch = 1;",
             "g.blocks = {data(tensors[2]), 64};"});
  std::string text;
  for (const auto& [name, source] : toolchain.sources) text += source + "\n";
  tessera::testing::expect_golden(
      TESSERA_SOURCE_DIR "/src/backends/cutlass/testdata/mixed_product.txt", text);
}

TEST(CutlassMixed, ScalesMayBeOfFloat32) {
  RecordingToolchain toolchain;
  const auto outcome = compile(kByInt8, toolchain, *parse_target("cutlass -accumulator=float16"));
  EXPECT_EQ(composites_of(outcome), (std::vector<std::string>{"cutlass.mixed_product"}));
  expect_in(source_in(toolchain, "tessera_gemm_"),
            {"b=int8:column:16", "scales=float32 {", "using B = int8_t;", "using Sum = float;",
             "using Scale = float;", "kHasOffsets = false;"});
}

TEST(CutlassMixed, TheNumberOfRowsMayBeOpen) {
  RecordingToolchain toolchain;
  compile(R"(
def @main(%x: Tensor[(?n, 384), bfloat16], %w: Tensor[(1024, 384), int8],
          %s: Tensor[(1, 3, 1024), float32]) {
  qnn.dense_mixed(%x, %w, %s, block_size=128)
})",
          toolchain);
  expect_in(source_in(toolchain, "cutlass_regions"),
            {"const int64_t m = size(tensors[3], 0, 1), n = 1024"});
}

cutlass::Gemm product_of(std::int64_t rows, std::int64_t block_size) {
  cutlass::Gemm gemm;
  gemm.m = rows, gemm.n = 4096, gemm.k = 4096;
  gemm.a_dtype = kFloat16, gemm.b_dtype = kInt8;
  gemm.mixed = cutlass::MixedForm{4, block_size, {}, kFloat16, false};
  gemm.sum_dtype = kFloat32, gemm.epilogue.dtype = kFloat16;
  gemm.a_align = 8, gemm.b_align = 32, gemm.d_align = 8;
  return gemm;
}

// A step along K has one scale, and a kernel's registers hold 64 columns a warpgroup.
TEST(CutlassMixed, StepsLieInBlocks) {
  for (const std::int64_t block : {64, 128, 192, 4096}) {
    const auto all = cutlass::candidates(product_of(512, block), Target("cutlass"), {});
    ASSERT_FALSE(all.empty());
    for (const auto& c : all) {
      EXPECT_EQ(block % c.tile_k, 0) << c.text();
      EXPECT_EQ(c.tile_n % (c.schedule == cutlass::Schedule::kCooperative ? 128 : 64), 0)
          << c.text();
    }
    const bool has_deep = std::ranges::any_of(all, [](const auto& c) { return c.tile_k == 128; });
    EXPECT_EQ(has_deep, block % 128 == 0) << block;
  }
}

TEST(CutlassMixed, TilesGrowWithTheRows) {
  const auto tile_of = [](std::int64_t rows) {
    return cutlass::candidates(product_of(rows, 128), Target("cutlass"), {}).front().tile_m;
  };
  EXPECT_LE(tile_of(17), 32);
  EXPECT_LE(tile_of(64), 64);
  EXPECT_GE(tile_of(4096), 128);
}

TEST(CutlassMixed, RefusalsHaveReasons) {
  const auto reasons = [](int n, int k, int block, const char* x, const char* target) {
    RecordingToolchain toolchain;
    const auto outcome =
        compile(fmt::format("def @main(%x: Tensor[(64, {1}), {3}], %w: Tensor[({0}, {1}), int8], "
                            "%s: Tensor[(1, {4}, {0}), float32]) {{ "
                            "qnn.dense_mixed(%x, %w, %s, block_size={2}) }}",
                            n, k, block, x, (k + block - 1) / block),
                toolchain, *parse_target(target));
    std::string text;
    for (const auto& refusal : outcome.refusals) text += refusal.reason + "\n";
    return text;
  };
  expect_in(reasons(64, 72, 64, "float16", "cutlass"), {"of a multiple of 16 terms, not 72"});
  expect_in(reasons(60, 64, 64, "float16", "cutlass"), {"need a multiple of 8 columns, not 60"});
  expect_in(reasons(64, 64, 32, "float16", "cutlass"),
            {"groups of 32 terms are no multiple of 64, which a step of the kernel has"});
  RecordingToolchain toolchain;
  const auto other = compile(R"(
def @main(%x: Tensor[(64, 64), float16], %w: Tensor[(64, 64), int8],
          %s: Tensor[(1, 1, 64), bfloat16]) { qnn.dense_mixed(%x, %w, %s, block_size=64) })",
                             toolchain);
  ASSERT_FALSE(other.refusals.empty());
  expect_in(other.refusals.front().reason,
            {"no kernel for scales of bfloat16 beside data of float16"});
  expect_in(reasons(64, 64, 64, "float32", "cutlass"), {"no kernel for float32 times int8"});
  expect_in(reasons(64, 64, 64, "float16", "cutlass -arch=sm_80"),
            {"for devices of sm_90a alone, not sm_80"});
}

// One kernel with all that is special, and one with what the other has not.
TEST(SlowKernels, OfMixedTypesCompile) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 1});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  for (const auto& [text, prefix] :
       {std::pair(kByInt4, "tessera_gemm_float16"), std::pair(kByInt8, "tessera_gemm_bfloat16")}) {
    const auto outcome = compile(text, *toolchain);
    ASSERT_EQ(outcome.module.artifacts.size(), 1u);
    EXPECT_EQ(kernels_in(outcome.module.artifacts[0].payload, prefix), 1);
  }
}

}  // namespace
}  // namespace tessera::backends
