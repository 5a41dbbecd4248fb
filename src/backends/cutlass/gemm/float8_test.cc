// SPDX-License-Identifier: Apache-2.0
// Products of floats of eight bits: what is taken as one kernel, and what that computes.
#include <gtest/gtest.h>

#include "backends/cutlass/gemm/configuration.h"
#include "backends/cutlass/testing/kernel_test.h"
#include "backends/cutlass/testing/models.h"
#include "link/toolchain.h"

namespace tessera::backends {
namespace {

using cutlass::testing::can_compile;
using cutlass::testing::compile;
using cutlass::testing::composites_of;
using cutlass::testing::expect_in;
using cutlass::testing::kernels_in;
using cutlass::testing::RecordingToolchain;

// The first half of a feed-forward network in float16 whose second half takes eight bits, too.
constexpr const char* kRequantisedFloat8 = R"(
def @main(%x: Tensor[(128, 256), uint8], %w: Tensor[(512, 256), uint8], %s: float32,
          %t: Tensor[(512), float32], %b: Tensor[(512), float16], %u: float32) {
  %0 = cast(qnn.dense_float8(%x, %w, %s, %t), dtype="float16");
  %1 = nn.gelu(add(%0, %b));
  qnn.quantize_float8(cast(%1, dtype="float32"), %u)
})";

std::string kernel_in(const RecordingToolchain& toolchain) {
  for (const auto& [name, source] : toolchain.sources) {
    if (name.starts_with("tessera_gemm_")) return name + "\n" + source;
  }
  return "";
}

TEST(CutlassFloat8, AQuantisedProductIsOneKernel) {
  RecordingToolchain toolchain;
  const auto outcome = compile(kRequantisedFloat8, toolchain);
  EXPECT_EQ(composites_of(outcome),
            (std::vector<std::string>{"cutlass.float8_product_bias_activation_quantised"}));
  expect_in(kernel_in(toolchain),
            {"tessera_gemm_e4m3fn_", "gemm_float8_sm90.cuh", "using A = ::cutlass::float_e4m3_t;",
             "using B = ::cutlass::float_e4m3_t;", "using Sum = float;",
             "using D = ::cutlass::float_e4m3_t;", "kAlignA = 16, kAlignB = 16, kAlignD = 16;",
             "FastSums;", "EpilogueWords<HalfPrecisionWords>",
             "InputList<Scalar<float>, Row<float>, Row<::cutlass::half_t>, Scalar<float>>;",
             "    const float v0 = sum * x0 * x1;\n"
             "    const float v1 = v0 + x2;\n",
             "divide(v2, x3)"});
}

// Scales that a run finds, one a row; the residual and a bias after it.
TEST(CutlassFloat8, RowsMayHaveScales) {
  RecordingToolchain toolchain;
  const auto outcome = compile(R"(
def @main(%x: Tensor[(2, 64, 256), uint8], %w: Tensor[(512, 256), uint8],
          %s: Tensor[(2, 64, 1), float32], %t: float32, %b: Tensor[(512), float16],
          %r: Tensor[(2, 64, 512), float16]) {
  %0 = cast(qnn.dense_float8(%x, %w, %s, %t, weight_format="e5m2"), dtype="float16");
  add(add(%0, %b), %r)
})",
                               toolchain);
  EXPECT_EQ(composites_of(outcome),
            (std::vector<std::string>{"cutlass.float8_product_bias_residual"}));
  expect_in(kernel_in(toolchain),
            {"using B = ::cutlass::float_e5m2_t;", "using D = ::cutlass::half_t;",
             "InputList<Column<float>, Scalar<float>, Row<::cutlass::half_t>, "
             "Full<::cutlass::half_t>>;"});
}

TEST(CutlassFloat8, SumsMayBeOfFloat32) {
  RecordingToolchain toolchain;
  compile(kRequantisedFloat8, toolchain, *parse_target("cutlass -fast_float8_sums=false"));
  const std::string kernel = kernel_in(toolchain);
  EXPECT_EQ(kernel.find("FastSums;"), std::string::npos) << kernel;
  expect_in(kernel, {"using Schedule = "});
}

TEST(CutlassFloat8, CandidatesAreHoppersOwn) {
  cutlass::Gemm gemm;
  gemm.m = 4096, gemm.n = 4096, gemm.k = 4096;
  gemm.a_dtype = gemm.b_dtype = kUInt8;
  gemm.a_format = gemm.b_format = &kFloat8E4M3;
  gemm.sum_dtype = kFloat32, gemm.epilogue.dtype = kFloat16;
  gemm.a_align = gemm.b_align = 16, gemm.d_align = 8;
  const auto all = cutlass::candidates(gemm, Target("cutlass"), {});
  ASSERT_FALSE(all.empty());
  for (const auto& c : all) {
    EXPECT_GE(c.tile_k, 128) << c.text();
    EXPECT_TRUE(c.schedule == cutlass::Schedule::kPingpong ||
                c.schedule == cutlass::Schedule::kCooperative)
        << c.text();
  }
}

TEST(CutlassFloat8, RefusalsHaveReasons) {
  const auto reasons = [](int n, int k, const char* target) {
    RecordingToolchain toolchain;
    const auto outcome = compile(
        fmt::format("def @main(%x: Tensor[(64, {1}), uint8], %w: Tensor[({0}, {1}), uint8], "
                    "%s: float32) {{ qnn.dense_float8(%x, %w, %s, %s) }}",
                    n, k),
        toolchain, *parse_target(target));
    std::string text;
    for (const auto& refusal : outcome.refusals) text += refusal.reason + "\n";
    return text;
  };
  expect_in(reasons(64, 40, "cutlass"), {"need sums of a multiple of 16 terms, not 40"});
  expect_in(reasons(6, 64, "cutlass"), {"give float32 need a multiple of 4 columns, not 6"});
  expect_in(reasons(64, 64, "cutlass -arch=sm_80"), {"by devices of sm_90a alone, not sm_80"});
}

// The kernel's conversion saturates.
TEST(CutlassFloat8, CodesThatDoNotSaturateAreMadeApart) {
  RecordingToolchain toolchain;
  std::string text = kRequantisedFloat8;
  text.insert(text.rfind(", %u)") + 4, ", saturate=False");
  EXPECT_EQ(composites_of(compile(text, toolchain)),
            (std::vector<std::string>{"cutlass.float8_product_epilogue"}));
  expect_in(kernel_in(toolchain), {"using D = float;"});
}

// One kernel with all that is special: scales of both kinds, and codes that come out.
TEST(SlowKernels, OfFloat8Compile) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 1});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  const auto outcome = compile(kRequantisedFloat8, *toolchain);
  ASSERT_EQ(outcome.module.artifacts.size(), 1u);
  EXPECT_EQ(kernels_in(outcome.module.artifacts[0].payload, "tessera_gemm_e4m3fn"), 1);
}

}  // namespace
}  // namespace tessera::backends
