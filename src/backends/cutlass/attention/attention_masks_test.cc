// SPDX-License-Identifier: Apache-2.0
// What may stand between scores and softmax: masks that are added, masks that choose between scores
// and a number, and a causal one with one of these.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cutlass/testing/models.h"
#include "ops/evaluation/evaluate_function.h"
#include "ops/inference/infer_types.h"
#include "relay/rewrite.h"

namespace tessera::backends {
namespace {

using cutlass::testing::compile;
using cutlass::testing::composites_of;
using cutlass::testing::parse;
using cutlass::testing::RecordingToolchain;

constexpr int kKeys = 96;

// `seen` for keys up to the query's own, `hidden` after it.
Tensor causal(DType dtype, double seen, double hidden) {
  std::vector<double> values;
  for (int i = 0; i < kKeys * kKeys; ++i) {
    values.push_back(i % kKeys <= i / kKeys ? seen : hidden);
  }
  return tensor_from_doubles({1, 1, kKeys, kKeys}, dtype, values);
}

// That in place of a parameter.
Module with_constant(Module module, const std::string& name, double seen, double hidden) {
  const relay::Function f = module.functions.at("main");
  module.functions.at("main") =
      relay::rewrite(f, [&](relay::Copier& c, relay::NodeId id) -> std::optional<relay::NodeId> {
        const auto* param = f.as<relay::Param>(id);
        if (param == nullptr || param->name != name) return std::nullopt;
        return c.builder().constant(causal(f.type(id).dtype(), seen, hidden));
      });
  return *ops::infer_types(std::move(module));
}

// softmax(`masked`) V, where `masked` reads the scaled scores %0, in float32 %1, which is the mask
// %m in numbers otherwise. %tril, %future (what is added after the query) and %far (the same, of
// float32) are constants, as are %ones and %taken: s * ones - taken is s, or -10000 after the
// query.
Module masked_model(const std::string& masked, bool is_wide = false, double hidden = -65504) {
  const std::string weights =
      is_wide ? "cast(nn.softmax(%2, axis=3), dtype=\"float16\")" : "nn.softmax(%2, axis=3)";
  Module module = parse(fmt::format(
      R"(
def @main(%q: Tensor[(2, 4, 96, 64), float16], %k: Tensor[(2, 4, 96, 64), float16],
          %v: Tensor[(2, 4, 96, 64), float16], %m: Tensor[(2, 1, 1, 96), bool],
          %full: Tensor[(2, 1, 96, 96), bool],
          %f: Tensor[(2, 1, 1, 96), float16], %g: Tensor[(2, 1, 1, 96), float32],
          %alibi: Tensor[(1, 4, 1, 96), float16], %tril: Tensor[(1, 1, 96, 96), bool],
          %triu: Tensor[(1, 1, 96, 96), bool], %future: Tensor[(1, 1, 96, 96), float16],
          %far: Tensor[(1, 1, 96, 96), float32], %ones: Tensor[(1, 1, 96, 96), float16],
          %taken: Tensor[(1, 1, 96, 96), float16], %few: Tensor[(1, 1, 96, 96), float16]) {{
  %0 = multiply(nn.matmul(%q, transpose(%k, axes=[0, 1, 3, 2]), units=None), 0.125f16);
  {}
  %2 = {};
  nn.matmul({}, %v, units=None)
}})",
      is_wide ? "%1 = cast(%0, dtype=\"float32\");" : "%1 = cast(%m, dtype=\"float16\");", masked,
      weights));
  module = with_constant(std::move(module), "tril", 1, 0);
  module = with_constant(std::move(module), "triu", 0, 1);
  module = with_constant(std::move(module), "far", 0, -3.4e38);
  module = with_constant(std::move(module), "ones", 1, 0);
  module = with_constant(std::move(module), "taken", 0, 1e4);
  module = with_constant(std::move(module), "few", 0, 100);
  return with_constant(std::move(module), "future", 0, hidden);
}

struct MaskCase {
  std::string masked;
  std::string mask;    // in the kernel's name
  std::string hidden;  // and in its call
  bool is_wide = false;
};

TEST(AttentionMasks, EveryFormIsOneKernel) {
  const std::string all = "a.hidden = -0x1p+100f, a.seen = ", none = "a.hidden = -__builtin_inff()";
  const std::string smallest = "a.hidden = -0x1.ffcp+18f";  // -65504 / 0.125
  const MaskCase cases[] = {
      {"where(%tril, %0, -65504f16)", "causal", ""},
      {"where(%triu, -65504f16, %0)", "causal", ""},
      {"where(%tril, %0, -inff16)", "causal", ""},
      {"where(%tril, %1, -3.4e38f)", "causal", "", true},
      {"add(%0, %future)", "causal", ""},
      {"where(%m, %0, -65504f16)", "keymask_bool", all + "1;"},
      {"where(%m, %0, -inff16)", "keymask_bool", none + ", a.seen = 1;"},
      {"where(%m, -inff16, %0)", "keymask_bool", none + ", a.seen = 0;"},
      {"where(%m, -10000f16, %0)", "keymask_bool", all + "0;"},
      {"where(%m, %1, -3.4e38f)", "keymask_bool", all + "1;", true},
      {"where(%full, %0, -65504f16)", "mask_bool", all + "1;"},
      {"add(add(%0, %future), %f)", "causal_keymask_float16", smallest},
      {"add(%f, add(%future, %0))", "causal_keymask_float16", smallest},
      {"add(add(%0, %f), %future)", "causal_keymask_float16", smallest},
      {"add(add(%0, %alibi), %future)", "causal_keymask_float16", smallest},
      {"add(where(%tril, %0, -65504f16), %f)", "causal_keymask_float16", smallest},
      {"where(%tril, add(%0, %f), -inff16)", "causal_keymask_float16", none},
      {"add(where(%tril, %1, -3.4e38f), %g)", "causal_keymask_float32", all, true},
      {"add(add(%1, %far), %g)", "causal_keymask_float32", all, true},
      {"where(%m, where(%tril, %0, -65504f16), -65504f16)", "causal_keymask_bool", all + "1;"},
      {"where(%triu, -inff16, where(%m, -inff16, %0))", "causal_keymask_bool", none},
      // GPT-2 as it was once: s b - 10000 (1 - b)
      {"subtract(multiply(%0, %ones), %taken)", "causal", ""},
      {"subtract(multiply(%ones, %0), %taken)", "causal", ""},
      {"add(subtract(multiply(%0, %ones), %taken), %f)", "causal_keymask_float16",
       "a.hidden = -0x1.388p+16f"},
      {"subtract(multiply(add(%0, %f), %ones), %taken)", "causal_keymask_float16",
       "a.hidden = -0x1.388p+16f"},
      {"subtract(multiply(%0, %1), multiply(subtract(1f16, %1), 10000f16))", "keymask_bool",
       all + "1;"},
      {"where(%m, subtract(multiply(%0, %ones), %taken), -10000f16)", "causal_keymask_bool",
       all + "1;"},
  };
  for (const MaskCase& c : cases) {
    SCOPED_TRACE(c.masked);
    RecordingToolchain toolchain;
    const auto outcome = compile(masked_model(c.masked, c.is_wide), toolchain);
    ASSERT_EQ(composites_of(outcome).size(), 1u);
    EXPECT_TRUE(toolchain.sources.contains("tessera_attention_float16_64_" + c.mask +
                                           "_sm90_64x128_SelfLoading"))
        << toolchain.sources.begin()->first;
    const std::string& text = toolchain.sources.at("cutlass_regions");
    EXPECT_NE(text.find(c.hidden), std::string::npos) << text;
    EXPECT_EQ(text.find("a.hidden") == std::string::npos, c.hidden.empty()) << text;
  }
}

// As a file that mentions a mask more than once has it: nodes of their own for one constant.
TEST(AttentionMasks, ManyNodesOfOneCausalMaskAreCausal) {
  Module module = parse(R"(
def @main(%q: Tensor[(2, 4, 96, 64), float16], %k: Tensor[(2, 4, 96, 64), float16],
          %f: Tensor[(2, 1, 1, 96), float16], %a: Tensor[(1, 1, 96, 96), float16],
          %b: Tensor[(1, 1, 96, 96), float16]) {
  %0 = add(nn.matmul(%q, transpose(%q, axes=[0, 1, 3, 2]), units=None), %a);
  %1 = nn.matmul(nn.softmax(%0, axis=3), %q, units=None);
  %2 = add(nn.matmul(%k, transpose(%k, axes=[0, 1, 3, 2]), units=None), %f);
  (%1, nn.matmul(nn.softmax(add(%2, %b), axis=3), %k, units=None))
})");
  const Tensor mask = causal(kFloat16, 0, -65504);
  const relay::Function f = module.functions.at("main");
  module.functions.at("main") =
      relay::rewrite(f, [&](relay::Copier& c, relay::NodeId id) -> std::optional<relay::NodeId> {
        const auto* param = f.as<relay::Param>(id);
        if (param == nullptr || (param->name != "a" && param->name != "b")) return std::nullopt;
        return c.builder().constant(mask);
      });
  RecordingToolchain toolchain;
  EXPECT_EQ(composites_of(compile(*ops::infer_types(std::move(module)), toolchain)),
            (std::vector<std::string>{"cutlass.causal_attention", "cutlass.causal_attention"}));
}

TEST(AttentionMasks, WhatAKernelWouldComputeOtherwiseIsRefusedWithAReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"where(%m, %0, -100f16)", "a `where` before the softmax takes no number"},
      {"where(%m, %0, 0f16)", "a `where` before the softmax takes no number"},
      {"add(add(%0, %f), %alibi)", "two masks stand between scores and softmax"},
      {"where(%full, add(%0, %f), -65504f16)", "two masks stand between scores and softmax"},
      {"where(%m, add(%0, %future), -65504f16)", "hide keys by different numbers"},
      {"where(%m, where(%tril, %0, -inff16), -65504f16)", "hide keys by different numbers"},
      {"subtract(multiply(%0, %ones), %few)", "a `where` before the softmax takes no number"},
      {"subtract(multiply(%0, %few), %taken)", "a `where` before the softmax takes no number"},
      {"maximum(%0, -100f16)", "scores have a lower bound"},
  };
  for (const auto& [masked, reason] : cases) {
    SCOPED_TRACE(masked);
    RecordingToolchain toolchain;
    const auto outcome = compile(masked_model(masked), toolchain);
    EXPECT_EQ(composites_of(outcome).size(), 2u);  // the products
    std::string reasons;
    for (const auto& refusal : outcome.refusals) reasons += refusal.reason + "\n";
    EXPECT_NE(reasons.find(reason), std::string::npos) << reasons;
  }
}

// A row of scores that are all hidden, and one of which one is seen, as the reference has them: the
// kernel gets equal shares from a number that swallows the scores, for sums with the smallest
// number of a type as for choices.
TEST(AttentionMasks, TheReferenceGivesHiddenKeysEqualShares) {
  const auto shares = [](const std::string& masked, DType dtype, double hidden) {
    const std::string type = to_string(dtype);
    const Module module =
        parse(fmt::format("def @main(%s: Tensor[(2, 3), {0}], %m: Tensor[(2, 3), bool],\n"
                          "          %z: Tensor[(2, 3), {0}], %h: Tensor[(2, 3), {0}]) {{\n"
                          "  nn.softmax({1}, axis=1)\n}}",
                          type, masked));
    const double scores[] = {3, -2, 1.5, 3, -2, 1.5}, seen[] = {0, 0, 0, 0, 1, 0};
    const double zeros[6] = {}, numbers[] = {hidden, hidden, hidden, hidden, hidden, hidden};
    const Tensor inputs[] = {
        tensor_from_doubles({2, 3}, dtype, scores), tensor_from_doubles({2, 3}, kBool, seen),
        tensor_from_doubles({2, 3}, dtype, zeros), tensor_from_doubles({2, 3}, dtype, numbers)};
    const Tensor y = ops::evaluate(module, module.functions.at("main"), inputs).front();
    std::vector<double> values;
    for (int i = 0; i < 6; ++i) values.push_back(element_as_double(y, i));
    return values;
  };
  for (const DType dtype : {kFloat16, kFloat32}) {
    const double smallest = dtype == kFloat16 ? -65504 : -0x1.fffffep127;
    for (const char* masked : {"where(%m, %s, %h)", "add(%s, where(%m, %z, %h))"}) {
      const auto values = shares(masked, dtype, smallest);
      for (int i = 0; i < 3; ++i) EXPECT_NEAR(values[static_cast<std::size_t>(i)], 1. / 3, 3e-4);
      EXPECT_EQ(std::vector(values.begin() + 3, values.end()), (std::vector<double>{0, 1, 0}));
    }
    // As kernels have it, in float.
    const auto swallowed = shares("add(%s, where(%m, %z, %h))", kFloat32, -0x1p100);
    EXPECT_EQ(swallowed, shares("where(%m, %s, %h)", kFloat32, smallest));
    EXPECT_TRUE(std::isnan(shares("where(%m, %s, %h)", dtype, -INFINITY)[0]));
  }
}

}  // namespace
}  // namespace tessera::backends
