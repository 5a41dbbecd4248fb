// SPDX-License-Identifier: Apache-2.0
// Attention on a stand-in of cuDNN: as exporters write it, with every mask that is taken.
#include <gtest/gtest.h>

#include "backends/cudnn/graph_tests/graphs.h"
#include "backends/cudnn/testing/fake.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "passes/manager.h"
#include "passes/pass.h"
#include "passes/pipeline_text.h"

namespace tessera::backends::cudnn {
namespace {

namespace graphs = ::tessera::backends::testing;
using testing::compiled;
using testing::compiling;
using testing::graph_of;
using testing::refusal_of;

const testing::FakeLibrary fake_for_attention(TESSERA_FAKE_CUDNN_FOLDER);

// Two batches of three heads of 8, ten queries and keys: %5, %6 and %7 are the heads, %8 the
// scores. %2 and %3 are causal masks, constants once passes have computed them.
Module graph_with(const std::string& body, const std::string& dtype = "float16") {
  const std::string suffix = dtype == "float16" ? "f16" : "f";
  const std::string parameters = fmt::format(
      "%q: Tensor[(2, 10, 24), {0}], %k: Tensor[(2, 10, 24), {0}], %v: Tensor[(2, 10, 24), {0}], "
      "%x: Tensor[(2, 10, 72), {0}], %y: Tensor[(6, 10, 8), {0}], %m: Tensor[(2, 1, 1, 10), {0}], "
      "%n: Tensor[(2, 3, 10, 10), {0}], %h: Tensor[(1, 3, 1, 10), {0}], %p: Tensor[(10, 10), {0}], "
      "%s: Tensor[(2, 1, 1, 10), bool], %r: Tensor[(6, 1, 10), {0}]",
      dtype);
  const std::string heads = fmt::format(
      "%0 = reshape(arange(0i64, 10i64, 1i64, dtype=\"int64\"), newshape=[1, 1, 1, 10]);\n"
      "  %1 = less_equal(%0, reshape(%0, newshape=[1, 1, 10, 1]));\n"
      "  %2 = where(%1, 0{0}, -inf{0});\n"
      "  %3 = where(%1, 0{0}, -30000{0});\n"
      "  %5 = transpose(reshape(multiply(%q, 0.5{0}), newshape=[2, 10, 3, 8]), axes=[0, 2, 1, "
      "3]);\n"
      "  %6 = transpose(reshape(%k, newshape=[2, 10, 3, 8]), axes=[0, 2, 3, 1]);\n"
      "  %7 = transpose(reshape(%v, newshape=[2, 10, 3, 8]), axes=[0, 2, 1, 3]);\n"
      "  %8 = nn.matmul(%5, %6, units=None);\n  ",
      suffix);
  return graph_of(parameters, heads + body);
}

std::string weighted(const std::string& scores) {
  return "nn.matmul(nn.softmax(" + scores + ", axis=3), %7, units=None)";
}
std::string merged(const std::string& scores) {
  return "reshape(transpose(" + weighted(scores) + ", axes=[0, 2, 1, 3]), newshape=[2, 10, 24])";
}

// Masks that are computed of nothing become constants.
Module folded(const Module& module) {
  const auto calls =
      passes::parse_pipeline("fold-constant,eliminate-dead-code", passes::all_passes());
  auto done = passes::run_passes(module, *calls, ops::operators(), {});
  return *ops::infer_types(std::move(done->module));
}

struct AttentionCase {
  std::string body, composite;
};

TEST(CudnnAttention, ComputesWhatTheGraphDoes) {
  const AttentionCase cases[] = {
      {weighted("%8"), "attention"},
      {merged("%8"), "attention_merged"},
      {"transpose(" + weighted("%8") + ", axes=[0, 2, 1, 3])", "attention_transposed"},
      {merged("add(%8, %m)"), "attention_merged"},  // of keys
      {merged("add(%8, %n)"), "attention_merged"},  // of everything
      {merged("add(%h, %8)"), "attention_merged"},  // of heads and keys
      {merged("add(%8, %p)"), "attention_merged"},  // the same for all heads
      {merged("divide(%8, 3f16)"), "attention_merged"},
      {merged("add(%8, %2)"), "causal_attention_merged"},
      {merged("add(%8, %3)"), "causal_attention_merged"},
      {merged("where(%1, %8, -65504f16)"), "causal_attention_merged"},
      {merged("add(add(%8, %2), %m)"), "causal_masked_attention_merged"},
      // where each row has a key, a guard against NaN does nothing
      {"%9 = nn.softmax(add(%8, %2), axis=3);\n"
       "  nn.matmul(where(isnan(%9), 0f16, %9), %7, units=None)",
       "causal_attention"},
      // heads as they are, one tensor for all of them
      {"nn.matmul(nn.softmax(nn.batch_matmul(%y, %y, transpose_b=True), axis=2), %y, units=None)",
       "attention"},
      {"nn.matmul(nn.softmax(add(nn.batch_matmul(%y, %y, transpose_b=True), %r), axis=2), %y, "
       "units=None)",
       "attention"},
      // parts of a packed tensor
      {"%9 = transpose(reshape(strided_slice(%x, begin=[0], end=[24], strides=[1], axes=[2]), "
       "newshape=[2, 10, 3, 8]), axes=[0, 2, 1, 3]);\n"
       "  %10 = transpose(reshape(strided_slice(%x, begin=[24], end=[48], strides=[1], axes=[2]), "
       "newshape=[2, 10, 3, 8]), axes=[0, 2, 3, 1]);\n"
       "  %11 = transpose(reshape(strided_slice(%x, begin=[48], end=[72], strides=[1], axes=[2]), "
       "newshape=[2, 10, 3, 8]), axes=[0, 2, 1, 3]);\n"
       "  nn.matmul(nn.softmax(nn.matmul(%9, %10, units=None), axis=3), %11, units=None)",
       "attention"},
  };
  for (const AttentionCase& c : cases) {
    SCOPED_TRACE(c.body);
    const Module module = folded(graph_with(c.body));
    const auto outcome = compiled(module, compiling());
    EXPECT_EQ(graphs::composites_of(outcome), std::vector{c.composite});
    graphs::expect_same_results(outcome.module, module, 4e-3, {1});
  }
}

TEST(CudnnAttention, OfOtherTypes) {
  const Module brain = graph_of(
      "%q: Tensor[(6, 10, 8), bfloat16], %k: Tensor[(6, 12, 8), bfloat16], "
      "%v: Tensor[(6, 12, 8), bfloat16], %m: Tensor[(6, 10, 12), bfloat16]",
      "nn.matmul(nn.softmax(add(nn.batch_matmul(%q, %k, transpose_b=True), %m), axis=2), %v, "
      "units=None)");
  const auto outcome = compiled(brain, compiling());
  EXPECT_EQ(graphs::composites_of(outcome), std::vector<std::string>{"attention"});
  graphs::expect_same_results(outcome.module, brain, 3e-2, {1});

  const Module single = graph_with(merged("add(%8, %m)"), "float32");
  EXPECT_EQ(refusal_of(single, compiling()),
            "cuDNN multiplies attention of float32 in tf32, which `-tf32` allows");
  const auto fast = compiled(single, compiling().with("tf32", true));
  EXPECT_EQ(graphs::composites_of(fast), std::vector<std::string>{"attention_merged"});
  EXPECT_EQ(fast.module.externs.begin()->second.float32_precision, kFloat16);
  graphs::expect_same_results(fast.module, single, 2e-5, {1});
}

TEST(CudnnAttention, OfOneQueryAndOddSizes) {
  const Module module = graph_of(
      "%q: Tensor[(2, 3, 1, 40), float16], %k: Tensor[(2, 3, 37, 40), float16], %v: Tensor[(2, 3, "
      "37, 40), float16], %m: Tensor[(2, 1, 1, 37), float16]",
      "nn.matmul(nn.softmax(add(nn.matmul(%q, transpose(%k, axes=[0, 1, 3, 2]), units=None), %m), "
      "axis=-1), %v, units=None)");
  const auto outcome = compiled(module, compiling());
  EXPECT_EQ(graphs::composites_of(outcome), std::vector<std::string>{"attention"});
  graphs::expect_same_results(outcome.module, module, 4e-3, {1});
}

TEST(CudnnAttention, RefusesWithASentence) {
  const auto why = [](const std::string& body) {
    return refusal_of(folded(graph_with(body)), compiling());
  };
  EXPECT_EQ(why(merged("where(%s, %8, -65504f16)")),
            "the mask chooses between scores and a number: cuDNN is given those that are added");
  EXPECT_EQ(why(merged("add(add(%8, %3), %m)")),
            "the causal mask hides keys by -60000 and another mask is added: where that hides all "
            "others the number counts, and cuDNN is given none but infinity");
  EXPECT_EQ(why("%9 = nn.softmax(add(%8, %m), axis=3);\n"
                "  nn.matmul(where(isnan(%9), 0f16, %9), %7, units=None)"),
            "a row without a key is to be zero, which cuDNN does not promise");
  EXPECT_EQ(why(merged("add(%8, reshape(%m, newshape=[2, 1, 10, 1]))")),
            "the mask is the same for all keys");
  const auto plain = [](const std::string& type) {
    const std::string body =
        "nn.matmul(nn.softmax(nn.matmul(%q, transpose(%k, axes=[0, 1, 3, 2]), units=None), "
        "axis=-1), %v, units=None)";
    return refusal_of(fmt::format("%q: {0}, %k: {0}, %v: {0}", type), body, compiling());
  };
  EXPECT_EQ(plain("Tensor[(2, 3, 10, 8), float16]"), "taken");
  EXPECT_EQ(plain("Tensor[(?b, 3, 10, 8), float16]"),
            "a plan of cuDNN is for known sizes, not Tensor[(?b, 3, 8, 10), float16]");
  EXPECT_EQ(plain("Tensor[(2, 3, 10, 8), float64]"), "attention of float64");
  // In between is said what the machine lacks.
  const std::string odd = plain("Tensor[(2, 3, 10, 20), float16]");
  EXPECT_TRUE(odd.starts_with("cuDNN 91900 has no engine for it that is as exact as it must be"))
      << odd;
  EXPECT_TRUE(odd.ends_with(": 2 x 3 heads of 20, 10 queries, 10 keys")) << odd;
  // Scores do not lie in memory, so that they may be more than tensors.
  EXPECT_EQ(plain("Tensor[(8, 16, 8192, 64), float16]"), "taken");
}

// Parts that begin between multiples of 16 bytes.
TEST(CudnnAttention, RefusesPartsThatAreNotAligned) {
  const std::string heads =
      "transpose(reshape(strided_slice(%x, begin=[1], end=[9], strides=[1], axes=[2]), "
      "newshape=[2, 10, 1, 8]), axes=[0, 2, {}])";
  EXPECT_EQ(refusal_of("%x: Tensor[(2, 10, 9), float16]",
                       fmt::format("nn.matmul(nn.softmax(nn.matmul({0}, {1}, units=None), "
                                   "axis=-1), {0}, units=None)",
                                   fmt::format(fmt::runtime(heads), "1, 3"),
                                   fmt::format(fmt::runtime(heads), "3, 1")),
                       compiling()),
            "heads begin 2 bytes into their tensor, and cuDNN wants multiples of 16");
}

TEST(CudnnAttention, NeedsEnginesThatAreCompiled) {
  EXPECT_EQ(refusal_of(graph_with(merged("%8"))),
            "cuDNN 91900 has no engine for it that is as exact as it must be: 2 x 3 heads of 8, 10 "
            "queries, 10 keys; engines whose code it compiles are taken with `-runtime_engines`");
}

}  // namespace
}  // namespace tessera::backends::cudnn
