// SPDX-License-Identifier: Apache-2.0
// What is attention by its shape and goes to no kernel of it says why, whatever stands in it.
#include <algorithm>

#include <gtest/gtest.h>

#include "backends/cutlass/testing/models.h"

namespace tessera::backends {
namespace {

using cutlass::testing::compile;
using cutlass::testing::composites_of;
using cutlass::testing::RecordingToolchain;

struct Outcome {
  bool is_attention = false;
  std::string softmax, all;  // reasons, of the softmax and of whatever else
};

Outcome outcome_of(const std::string& text, const char* target = "cutlass") {
  SCOPED_TRACE(text);
  RecordingToolchain toolchain;
  const auto outcome = compile(text, toolchain, *parse_target(target));
  Outcome out;
  for (const std::string& name : composites_of(outcome)) {
    out.is_attention |= name.find("attention") != std::string::npos;
  }
  for (const auto& refusal : outcome.refusals) {
    (refusal.op == "nn.softmax" ? out.softmax : out.all) += refusal.reason + "\n";
  }
  out.all += out.softmax;
  return out;
}

// Attention of (2, 4, 96, 64) with what stands between scores %0 and the softmax, and between that,
// %2, and the values; and what the function gives beside %5.
struct Parts {
  std::string masked = "%0", shares = "%2", result = "%5";
  std::string type = "float16", sizes = "(2, 4, 96, 64)";
};
std::string attention(const Parts& p) {
  return fmt::format(R"(
def @main(%q: Tensor[{0}, {1}], %k: Tensor[{0}, {1}], %v: Tensor[{0}, {1}],
          %f: Tensor[(2, 1, 1, 96), {1}], %i: Tensor[(2, 1, 1, 96), int64],
          %d: Tensor[(2, 1, 1, 1), {1}], %w: Tensor[(1, 2, 1, 96, 96), {1}]) {{
  %0 = nn.matmul(%q, transpose(%k, axes=[0, 1, 3, 2]), units=None);
  %1 = {2};
  %2 = nn.softmax(%1, axis=3);
  %4 = {3};
  %5 = nn.matmul(%4, %v, units=None);
  {4}
}})",
                     p.sizes, p.type, p.masked, p.shares, p.result);
}

TEST(AttentionReasons, ThereAreNoneWhereItIsTaken) {
  const Outcome outcome = outcome_of(attention({}));
  EXPECT_TRUE(outcome.is_attention);
  EXPECT_EQ(outcome.all, "");
}

TEST(AttentionReasons, TheSoftmaxHasThem) {
  const std::pair<Parts, const char*> cases[] = {
      {{.type = "float64"}, "there is no attention kernel for float64"},
      {{.type = "float32", .sizes = "(2, 4, 96, 62)"},
       "heads are 62 wide, not a multiple of 4 up to"},
      {{.sizes = "(2, 4, 96, 264)"}, "heads are 264 wide, not a multiple of 8 up to 256"},
      {{.sizes = "(2, 4, 96, 60)"}, "heads are 60 wide, not a multiple of 8 up to 256"},
      {{.sizes = "(2, 4, 96, ?width)"}, "a size is not known"},
      {{.sizes = "(?batch, 4, 96, 64)"}, "a size is not known"},
      {{.sizes = "(2, 4, ?rows, 64)"}, "a size is not known"},
      {{.masked = "multiply(tanh(multiply(%0, 0.02f16)), 50f16)"},
       "`tanh` stands between scores and softmax"},
      {{.masked = "clip(%0, a_min=-50f, a_max=50f)"}, "`clip` stands between scores and softmax"},
      {{.masked = "multiply(%0, %d)"}, "scores are scaled by a tensor"},
      {{.masked = "divide(%0, %d)"}, "scores are scaled by a tensor"},
      {{.masked = "multiply(%0, -0.125f16)"}, "the factor of the scores, -0.125, is not above 0"},
      {{.masked = "multiply(%0, 0f16)"}, "the factor of the scores, 0, is not above 0"},
      {{.masked = "subtract(%0, %f)"}, "`subtract` stands between scores and softmax"},
      {{.masked = "add(add(%0, %f), %d)"}, "two masks stand between scores and softmax"},
      {{.masked = "add(%0, %d)"}, "the mask is the same for all keys"},
      {{.masked = "maximum(%0, -100f16)"}, "scores have a lower bound"},
      {{.masked = "multiply(maximum(%0, -65504f16), 0.001f16)"}, "scores have a lower bound"},
      {{.masked = "where(greater(%i, 0i64), %0, -100f16)"},
       "a `where` before the softmax takes no number"},
      {{.shares = "multiply(%2, %f)"}, "`multiply` stands between the softmax and the values"},
      {{.shares = "where(isinf(%2), 0f16, %2)"}, "a `where` follows the softmax"},
      {{.result = "(%5, %2)"}, "a `nn.softmax` inside the attention is read elsewhere, too"},
      {{.result = "(%5, %0)"}, "a `nn.matmul` inside the attention is read elsewhere, too"},
      {{.masked = "reshape(add(reshape(%0, newshape=[1, 2, 4, 96, 96]), %w), newshape=[2, 4, 96, "
                  "96])"},
       "the mask is for scores of rank 5"},
      {{.masked = "reshape(reshape(%0, newshape=[8, 9216]), newshape=[2, 4, 96, 96])"},
       "a reshape of the scores takes their rows apart"},
  };
  for (const auto& [parts, reason] : cases) {
    const Outcome outcome = outcome_of(attention(parts));
    EXPECT_FALSE(outcome.is_attention) << reason;
    EXPECT_NE(outcome.softmax.find(reason), std::string::npos) << reason << "\n" << outcome.all;
  }
  EXPECT_NE(outcome_of(attention({}), "cutlass -arch=sm_75")
                .softmax.find("kernels of attention are for sm_80 and later"),
            std::string::npos);
}

// Products of rank 2, with values as the left factor, or a softmax along another axis.
TEST(AttentionReasons, ThereAreOthersOfOtherForms) {
  const auto reason_of = [](const std::string& body) {
    return outcome_of(
               "def @main(%q: Tensor[(96, 64), float16], %k: Tensor[(96, 64), float16], "
               "%a: Tensor[(8, 96, 96), float16], %b: Tensor[(8, 96, 96), float16], "
               "%c: Tensor[(8, 96, 96), float16]) {\n" +
               body + "\n}")
        .softmax;
  };
  EXPECT_NE(reason_of("  %0 = nn.matmul(%q, transpose(%k, axes=[1, 0]), units=None);\n"
                      "  nn.matmul(nn.softmax(%0, axis=1), %k, units=None)")
                .find("the heads are of rank 2"),
            std::string::npos);
  EXPECT_NE(reason_of("  %0 = nn.softmax(nn.matmul(%a, %b, units=None), axis=2);\n"
                      "  nn.matmul(%c, transpose(%0, axes=[0, 2, 1]), units=None)")
                .find("the softmax is not the left factor"),
            std::string::npos);
  EXPECT_NE(reason_of("  %0 = nn.softmax(nn.matmul(%a, %b, units=None), axis=1);\n"
                      "  nn.matmul(%0, %c, units=None)")
                .find("the softmax is not along the keys"),
            std::string::npos);
}

// A classifier, and probabilities of which no product is made.
TEST(AttentionReasons, OtherSoftmaxesHaveNone) {
  EXPECT_EQ(
      outcome_of("def @main(%x: Tensor[(8, 64), float16], %w: Tensor[(64, 1000), float16]) {\n"
                 "  nn.softmax(nn.matmul(%x, %w, units=None), axis=1)\n}")
          .all,
      "");
  EXPECT_EQ(outcome_of("def @main(%x: Tensor[(8, 64), float16], %w: Tensor[(64, 32), float16]) {\n"
                       "  nn.matmul(nn.softmax(%x, axis=1), %w, units=None)\n}")
                .softmax,
            "");
}

}  // namespace
}  // namespace tessera::backends
