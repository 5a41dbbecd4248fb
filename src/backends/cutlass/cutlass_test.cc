// SPDX-License-Identifier: Apache-2.0
// The back end without a device: what it takes, what text it makes, and that the text compiles.
#include "backends/cutlass/cutlass.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "backends/cutlass/fused_patterns.h"
#include "backends/cutlass/testing/kernel_test.h"
#include "backends/cutlass/testing/models.h"
#include "link/archive_symbols.h"
#include "link/toolchain.h"
#include "module/text.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "passes/manager.h"
#include "passes/pass.h"
#include "passes/pipeline_text.h"
#include "relay/rewrite.h"
#include "support/testing/golden.h"

namespace tessera::backends {
namespace {

using cutlass::testing::can_compile;
using cutlass::testing::compile;
using cutlass::testing::composites_of;
using cutlass::testing::kAttention;
using cutlass::testing::kFeedForward;
using cutlass::testing::OneMeasurement;
using cutlass::testing::parse;
using cutlass::testing::RecordingToolchain;
using tessera::testing::expect_golden;

TEST(Cutlass, EpiloguesAreMadeOfTheGraph) {
  RecordingToolchain toolchain;
  const auto outcome = compile(kFeedForward, toolchain);
  EXPECT_EQ(composites_of(outcome), (std::vector<std::string>{"cutlass.product_bias_activation",
                                                              "cutlass.product_bias_residual"}));
  ASSERT_EQ(outcome.module.artifacts.size(), 1u);
  std::string text;
  for (const auto& [name, source] : toolchain.sources) text += source + "\n";
  expect_golden(TESSERA_SOURCE_DIR "/src/backends/cutlass/testdata/feed_forward.txt", text);
}

TEST(Cutlass, WhatWasMeasuredIsTaken) {
  RecordingToolchain toolchain;
  const OneMeasurement unknown("sm_90a_unknown"), fast("sm90_128x128x64_c1x1_cooperative z4 m");
  compile(kFeedForward, toolchain, Target("cutlass"), &fast);
  EXPECT_EQ(fast.workloads, (std::set<std::string>{"gemm m=128 n=1024 k=4096 batch=1",
                                                   "gemm m=128 n=4096 k=1024 batch=1"}));
  const std::string& text = toolchain.sources.at("cutlass_regions");
  EXPECT_NE(text.find("sm90_128x128x64_c1x1_cooperative(call, &g)"), std::string::npos) << text;
  EXPECT_NE(text.find("g.swizzle = 4, g.raster_along_m = 1, g.dependent = 0;"), std::string::npos);
  RecordingToolchain another;
  compile(kFeedForward, another, Target("cutlass"), &unknown);
  EXPECT_NE(another.sources.at("cutlass_regions").find("64x64x128_c2x1_pingpong(call, &g)"),
            std::string::npos);
}

TEST(Cutlass, AttentionIsOneKernelOnPackedHeads) {
  RecordingToolchain toolchain;
  const auto outcome = compile(kAttention, toolchain);
  EXPECT_EQ(composites_of(outcome), (std::vector<std::string>{"cutlass.attention_merged"}));
  ASSERT_EQ(toolchain.sources.size(), 2u);
  const std::string& text = toolchain.sources.at("cutlass_regions");
  for (const char* line :
       {"a.batch = 2, a.heads = 16, a.queries = 128, a.keys = 128, a.width = 64;",
        "a.scale = 0x1p-3f;", "a.q = {data(tensors[0]), 393216, 64, 3072};",
        "a.k = {static_cast<char*>(data(tensors[0])) + 2048, 393216, 64, 3072};",
        "a.v = {static_cast<char*>(data(tensors[0])) + 4096, 393216, 64, 3072};",
        "a.o = {data(tensors[2]), 131072, 64, 1024};", "a.mask = {data(tensors[1]), 128, 0, 0};"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
  EXPECT_EQ(outcome.module.externs.begin()->second.workspace.bytes, 512);
}

TEST(Cutlass, AttentionOfOneBatch) {
  RecordingToolchain toolchain;
  std::string text = kAttention;
  for (const auto& [from, to] : {std::pair("(2, 128, 3072)", "(1, 128, 3072)"),
                                 std::pair("(2, 1, 1, 128)", "(1, 1, 128, 128)")}) {
    text.replace(text.find(from), std::string_view(from).size(), to);
  }
  for (std::size_t at; (at = text.find("newshape=[2")) != std::string::npos;) {
    text.replace(at, 11, "newshape=[1");
  }
  const auto outcome = compile(text, toolchain);
  EXPECT_EQ(composites_of(outcome), (std::vector<std::string>{"cutlass.attention_merged"}));
  const std::string& functions = toolchain.sources.at("cutlass_regions");
  EXPECT_NE(functions.find("a.q = {data(tensors[0]), 393216, 64, 3072};"), std::string::npos);
  EXPECT_NE(functions.find("a.mask = {data(tensors[1]), 16384, 0, 128};"), std::string::npos)
      << functions;
}

TEST(Cutlass, TheTargetSaysHowManyMultiprocessorsAttentionHasBlocksFor) {
  const auto has_kernel = [](const char* target, const std::string& configuration) {
    RecordingToolchain toolchain;
    compile(kAttention, toolchain, *parse_target(target));
    return toolchain.sources.contains("tessera_attention_float16_64_keymask_float16_" +
                                      configuration);
  };
  // 32 blocks.
  EXPECT_TRUE(has_kernel("cutlass", "sm90_64x128_SelfLoading"));
  EXPECT_TRUE(has_kernel("cutlass -multiprocessors=33", "sm90_64x128_SelfLoading"));
  EXPECT_TRUE(has_kernel("cutlass -multiprocessors=32", "sm90_128x128_PersistentPair"));
}

std::string attention_without_mask() {
  std::string text = kAttention;
  const std::string mask = "%8 = add(%7, %m);\n", softmax = "nn.softmax(%8";
  text.erase(text.find(mask), mask.size());
  text.replace(text.find(softmax), softmax.size(), "nn.softmax(%7");
  return text;
}

TEST(Cutlass, AttentionWithoutMaskIsAnotherKernel) {
  RecordingToolchain toolchain;
  const auto outcome = compile(attention_without_mask(), toolchain);
  EXPECT_EQ(composites_of(outcome).size(), 1u);
  EXPECT_TRUE(toolchain.sources.contains("tessera_attention_float16_64_sm90_64x128_SelfLoading"));
}

// With a mask that is a constant: zero up to the query's own key, `hidden` after it.
Module with_constant_mask(double hidden) {
  std::string text = kAttention;
  text.replace(text.find("(2, 1, 1, 128)"), 14, "(1, 1, 128, 128)");
  std::vector<double> values;
  for (int i = 0; i < 128 * 128; ++i) values.push_back(i % 128 <= i / 128 ? 0 : hidden);
  Module module = parse(text);
  const relay::Function f = module.functions.at("main");
  module.functions.at("main") =
      relay::rewrite(f, [&](relay::Copier& c, relay::NodeId id) -> std::optional<relay::NodeId> {
        const auto* param = f.as<relay::Param>(id);
        if (param == nullptr || param->name != "m") return std::nullopt;
        return c.builder().constant(tensor_from_doubles({1, 1, 128, 128}, kFloat16, values));
      });
  return *ops::infer_types(std::move(module));
}

TEST(Cutlass, ACausalMaskIsNotRead) {
  RecordingToolchain toolchain;
  const auto outcome = compile(with_constant_mask(-65504), toolchain);
  EXPECT_EQ(composites_of(outcome), (std::vector<std::string>{"cutlass.causal_attention_merged"}));
  const std::string kernel = "tessera_attention_float16_64_causal_sm90_64x128_SelfLoading";
  ASSERT_TRUE(toolchain.sources.contains(kernel)) << toolchain.sources.begin()->first;
  EXPECT_NE(toolchain.sources.at(kernel).find("kIsCausal = true;"), std::string::npos);
  EXPECT_EQ(toolchain.sources.at("cutlass_regions").find("a.mask"), std::string::npos);
}

TEST(Cutlass, AConstantMaskThatIsNotCausalIsRead) {
  RecordingToolchain toolchain;
  const auto outcome = compile(with_constant_mask(-3), toolchain);
  EXPECT_EQ(composites_of(outcome), (std::vector<std::string>{"cutlass.attention_merged"}));
  EXPECT_TRUE(toolchain.sources.contains(
      "tessera_attention_float16_64_mask_float16_sm90_64x128_SelfLoading"));
}

TEST(Cutlass, AttentionOfAnyNumberOfQueries) {
  RecordingToolchain toolchain;
  std::string text = attention_without_mask();
  for (std::size_t at = 0; (at = text.find("128", at)) != std::string::npos;) {
    text.replace(at, 3, "197");
  }
  const auto outcome = compile(parse(text), toolchain);
  EXPECT_EQ(composites_of(outcome), (std::vector<std::string>{"cutlass.attention_merged"}));
  EXPECT_NE(
      toolchain.sources.at("cutlass_regions").find("a.queries = 197, a.keys = 197, a.width = 64;"),
      std::string::npos);
}

// GPT-2's form, which to-mixed-precision puts casts into.
TEST(Cutlass, TanhGeluMayBeInFloat32) {
  RecordingToolchain toolchain;
  const auto outcome = compile(R"(
def @main(%x: Tensor[(64, 768), float16], %w: Tensor[(768, 3072), float16],
          %b: Tensor[(3072), float16]) {
  %0 = add(nn.matmul(%x, %w, units=None), %b);
  %1 = cast(multiply(%0, 0.5f16), dtype="float32");
  %2 = cast(%0, dtype="float32");
  %3 = multiply(power(%2, 3f), 0.044715f);
  %4 = tanh(multiply(add(%2, %3), 0.7978846f));
  cast(multiply(%1, add(%4, 1f)), dtype="float16")
})",
                               toolchain);
  EXPECT_EQ(composites_of(outcome), (std::vector<std::string>{"cutlass.product_bias_activation"}));
}

TEST(Cutlass, Float32IsThreeProductsOfTf32UnlessPlainTf32IsAllowed) {
  const std::string text =
      "def @main(%x: Tensor[(128, 64), float32], %w: Tensor[(96, 64), float32]) { "
      "nn.dense(%x, %w, units=None) }";
  RecordingToolchain three, plain, rows;
  const auto precision = [](const byoc::PartitionOutcome& outcome) {
    return outcome.module.externs.begin()->second.float32_precision;
  };
  EXPECT_EQ(precision(compile(text, three)), kFloat32);
  EXPECT_NE(three.sources.rbegin()->second.find("OpMultiplyAddFastF32"), std::string::npos);
  // What --verify allows for.
  EXPECT_EQ(precision(compile(text, plain, *parse_target("cutlass -use_3xtf32=false"))), kFloat16);
  EXPECT_NE(plain.sources.rbegin()->second.find("gemm_sm90.cuh"), std::string::npos);
  // What lies along N does not suit Hopper's instructions.
  compile(
      "def @main(%x: Tensor[(128, 64), float32], %w: Tensor[(64, 96), float32]) { "
      "nn.matmul(%x, %w, units=None) }",
      rows, *parse_target("cutlass -use_3xtf32=false"));
  EXPECT_NE(rows.sources.rbegin()->second.find("OpMultiplyAdd;"), std::string::npos);
}

TEST(Cutlass, OlderArchitecturesGetKernelsOfTheirs) {
  RecordingToolchain toolchain;
  const auto outcome = compile(kAttention, toolchain, *parse_target("cutlass -arch=sm_86"));
  EXPECT_EQ(composites_of(outcome).size(), 1u);
  for (const auto& [name, source] : toolchain.sources) {
    EXPECT_EQ(name.find("sm90"), std::string::npos) << name;
  }
}

// What compilations for a GPU do to views before placement.
Module with_canonical_views(const std::string& text) {
  const auto calls = passes::parse_pipeline("canonicalize-views", passes::all_passes());
  auto out = passes::run_passes(parse(text), *calls, ops::operators());
  EXPECT_TRUE(out) << render(out.error());
  return *ops::infer_types(std::move(out->module));
}

// Batch second, heads by way of [3, row, batch, width], a split of rows that has no single stride.
TEST(Cutlass, AttentionAsVisionTransformersWriteIt) {
  RecordingToolchain toolchain;
  const auto outcome = compile(with_canonical_views(R"(
def @main(%x: Tensor[(32, 197, 768), float16], %w: Tensor[(768, 2304), float16],
          %b: Tensor[(2304), float16], %v: Tensor[(768, 768), float16],
          %c: Tensor[(768), float16]) {
  %0 = transpose(%x, axes=[1, 0, 2]);
  %1 = add(%b, nn.matmul(%0, %w, units=None));
  %2 = transpose(reshape(%1, newshape=[1, 197, 32, 3, 768]), axes=[3, 1, 2, 0, 4]);
  %3 = squeeze(%2, axis=[3]);
  %4 = transpose(reshape(take(%3, 0i64, axis=0, mode="wrap"), newshape=[197, 384, 64]),
                 axes=[1, 0, 2]);
  %5 = multiply(reshape(%4, newshape=[32, 12, 197, 64]), 0.35f16);
  %6 = transpose(reshape(take(%3, 1i64, axis=0, mode="wrap"), newshape=[197, 384, 64]),
                 axes=[1, 0, 2]);
  %7 = transpose(reshape(%6, newshape=[32, 12, 197, 64]), axes=[0, 1, 3, 2]);
  %8 = nn.softmax(nn.matmul(%5, multiply(%7, 0.35f16), units=None), axis=3);
  %9 = transpose(reshape(take(%3, 2i64, axis=0, mode="wrap"), newshape=[197, 384, 64]),
                 axes=[1, 0, 2]);
  %10 = nn.matmul(%8, reshape(%9, newshape=[32, 12, 197, 64]), units=None);
  %11 = reshape(transpose(%10, axes=[2, 0, 1, 3]), newshape=[6304, 768]);
  %12 = add(nn.dense(%11, %v, units=None), %c);
  add(transpose(reshape(%12, newshape=[197, 32, 768]), axes=[1, 0, 2]), %x)
})"),
                               toolchain);
  EXPECT_EQ(composites_of(outcome),
            (std::vector<std::string>{"cutlass.product_bias", "cutlass.attention_merged",
                                      "cutlass.product_bias_residual"}));
  const std::string& text = toolchain.sources.at("cutlass_regions");
  EXPECT_NE(text.find("a.k = {static_cast<char*>(data(tensors[0])) + 1536, 453888, 64, 2304};"),
            std::string::npos)
      << text;
}

// Rows counted through all batches around each product, and a split of the packed heads.
TEST(Cutlass, AttentionAsGpt2WritesIt) {
  RecordingToolchain toolchain;
  const auto outcome = compile(with_canonical_views(R"(
def @main(%x: Tensor[(1, 64, 768), float16], %w: Tensor[(768, 2304), float16],
          %b: Tensor[(2304), float16], %v: Tensor[(768, 768), float16],
          %c: Tensor[(768), float16], %m: Tensor[(1, 1, 64, 64), float16]) {
  %0 = nn.matmul(reshape(%x, newshape=[-1, 768]), %w, units=None);
  %1 = split(reshape(add(%0, %b), newshape=[1, 64, 2304]), indices_or_sections=[768, 1536],
             axis=2);
  %2 = transpose(reshape(%1.0, newshape=[1, 64, -1, 64]), axes=[0, 2, 1, 3]);
  %3 = transpose(reshape(%1.1, newshape=[1, 64, -1, 64]), axes=[0, 2, 3, 1]);
  %4 = add(multiply(nn.matmul(%2, %3, units=None), 0.125f16), %m);
  %5 = transpose(reshape(%1.2, newshape=[1, 64, -1, 64]), axes=[0, 2, 1, 3]);
  %6 = nn.matmul(nn.softmax(%4, axis=3), %5, units=None);
  %7 = reshape(transpose(%6, axes=[0, 2, 1, 3]), newshape=[-1, 768]);
  %8 = add(nn.matmul(%7, %v, units=None), %c);
  add(reshape(%8, newshape=[1, 64, 768]), %x)
})"),
                               toolchain);
  EXPECT_EQ(composites_of(outcome),
            (std::vector<std::string>{"cutlass.product_bias", "cutlass.attention_merged",
                                      "cutlass.product_bias_residual"}));
}

TEST(Cutlass, FastMathIsForSigmoidsOfFloatResults) {
  const std::string text = R"(
def @main(%x: Tensor[(128, 64), float16], %w: Tensor[(96, 64), float16]) {
  %0 = nn.dense(%x, %w, units=None, out_dtype="float32");
  sigmoid(%0)
})";
  for (const bool is_fast : {false, true}) {
    RecordingToolchain toolchain;
    const auto outcome = compile(text, toolchain, Target("cutlass").with("use_fast_math", is_fast));
    EXPECT_EQ(outcome.module.externs.begin()->second.float32_precision,
              is_fast ? kFloat16 : kFloat32);
    std::string all;
    for (const auto& [name, source] : toolchain.sources) all += source;
    EXPECT_NE(all.find(is_fast ? "EpilogueWords<FastWords>" : "EpilogueWords<FloatWords>"),
              std::string::npos)
        << all;
  }
}

TEST(Cutlass, RefusalsHaveReasons) {
  RecordingToolchain toolchain;
  const auto reason = [&](const std::string& text, const Target& target = Target("cutlass")) {
    const auto outcome = compile(text, toolchain, target);
    return outcome.refusals.empty() ? "" : outcome.refusals.front().reason;
  };
  EXPECT_EQ(reason("def @main(%x: Tensor[(4, 8), float64], %w: Tensor[(8, 8), float64]) { "
                   "nn.dense(%x, %w, units=None) }"),
            "there is no kernel for float64");
  EXPECT_EQ(reason("def @main(%x: Tensor[(4, 8), float16], %w: Tensor[(8, ?), float16]) { "
                   "nn.matmul(%x, %w, units=None) }"),
            "a size is not known");
  EXPECT_EQ(reason("def @main(%x: Tensor[(2, 1, 4, 8), float16], %w: Tensor[(3, 8, 8), float16]) { "
                   "nn.matmul(%x, %w, units=None) }"),
            "batches of (2, 1) and (3) matrices are broadcast against each other");
  EXPECT_EQ(reason("#[symbol s = 1..]\n"
                   "def @main(%x: Tensor[(2, 4, ?s, 8), float16], "
                   "%w: Tensor[(2, 4, 8, ?s), float16]) { nn.matmul(%x, %w, units=None) }"),
            "the length of a row is not known");
}

TEST(Cutlass, AKernelThatDoesNotCompileTakesItsRegionsOnly) {
  RecordingToolchain toolchain;
  toolchain.failing = "erf";
  const auto outcome = compile(kFeedForward, toolchain);
  // The other region, and the product of this one without its GELU.
  ASSERT_EQ(outcome.module.artifacts.size(), 2u);
  for (const auto& artifact : outcome.module.artifacts) EXPECT_EQ(artifact.symbols.size(), 1u);
  EXPECT_EQ(outcome.module.externs.size(), 2u);
  // nvcc takes long to find out; once is enough.
  for (const auto& [name, count] : toolchain.attempts) {
    EXPECT_EQ(count, name == "cutlass_regions" ? 2 : 1) << name;
  }
}

// How many kernels there are in the objects for these composites, and how many of their images.
std::pair<int, int> compiled_kernels(const std::string& text, std::size_t composites) {
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 2});
  EXPECT_TRUE(toolchain) << render(toolchain.error());
  const auto outcome = compile(text, *toolchain);
  EXPECT_EQ(composites_of(outcome).size(), composites);
  EXPECT_EQ(outcome.module.artifacts.size(), 1u);
  const auto symbols = link::archive_symbols(outcome.module.artifacts.at(0).payload);
  EXPECT_TRUE(symbols);
  int kernels = 0, images = 0;
  for (const std::string& symbol : *symbols) {
    for (const char* kind : {"tessera_gemm_", "tessera_attention_", "tessera_conv_"}) {
      if (symbol.starts_with(kind)) ++(symbol.ends_with("_image") ? images : kernels);
    }
  }
  return {kernels, images};
}

// TMA and an epilogue.
TEST(CutlassKernels, Compile) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  EXPECT_EQ(compiled_kernels(R"(
def @main(%x: Tensor[(128, 64), float16], %w: Tensor[(64, 256), float16],
          %b: Tensor[(256), float16], %r: Tensor[(128, 256), float16]) {
  add(nn.gelu(add(nn.matmul(%x, %w, units=None), %b)), %r)
})",
                             1),
            std::pair(1, 1));
}

// Five that have little in common: attention of wide heads with a mask, a batch in float32, odd
// rows of two layers, a convolution by TMA and one of an image.
TEST(SlowKernels, OfAllFamiliesCompile) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  EXPECT_EQ(compiled_kernels(R"(
def @main(%q: Tensor[(2, 4, 96, 200), bfloat16], %m: Tensor[(2, 1, 1, 96), bfloat16],
          %a: Tensor[(4, 32, 64), float32], %u: Tensor[(4, 64, 64), float32],
          %odd: Tensor[(31, 13), float16], %t: Tensor[(7, 13), float16], %s: Tensor[(31, 7), float16],
          %l: Tensor[(7, 13), float16],
          %i: Tensor[(2, 9, 9, 64), float16], %c: Tensor[(64, 3, 3, 64), float16],
          %z: Tensor[(64), float16], %p: Tensor[(2, 9, 9, 3), float16],
          %k: Tensor[(7, 3, 3, 3), float16]) {
  %1 = nn.batch_matmul(%a, %u, transpose_b=False);
  %2 = add(nn.matmul(%q, transpose(%q, axes=[0, 1, 3, 2]), units=None), %m);
  %4 = nn.matmul(nn.softmax(%2, axis=3), %q, units=None);
  %3 = add(nn.dense(%odd, %t, units=None), %s);
  %7 = add(nn.dense(%odd, %l, units=None), %s);
  %5 = nn.conv2d(%i, %c, padding=[1, 1, 1, 1], data_layout="NHWC", kernel_layout="OHWI");
  %6 = nn.conv2d(%p, %k, strides=[2, 2], data_layout="NHWC", kernel_layout="OHWI");
  (%1, %4, %3, %7, nn.relu(add(add(%5, %z), %i)), nn.relu(%6))
})",
                             6),
            std::pair(5, 5));
}

}  // namespace
}  // namespace tessera::backends
