// SPDX-License-Identifier: Apache-2.0
// What a kernel is told of a composite (strides, scale, masks) gives what the operators give.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cutlass/attention/attention.h"
#include "backends/cutlass/testing/models.h"
#include "byoc/function_at_a_time.h"
#include "ops/evaluation/evaluate_function.h"
#include "passes/manager.h"
#include "passes/pass.h"
#include "passes/pipeline_text.h"
#include "passes/testing/random_inputs.h"

namespace tessera::backends::cutlass {
namespace {

using testing::parse;

// As kernels/attention.h defines it.
class HostAttention {
 public:
  HostAttention(const Attention& a, const relay::Function& region, std::vector<Tensor> tensors)
      : a_(a), region_(region), tensors_(std::move(tensors)) {}

  double result(std::int64_t b, std::int64_t h, std::int64_t query, std::int64_t element) const {
    double largest = -INFINITY, sum = 0, value = 0;
    for (std::int64_t key = 0; key < a_.keys; ++key) {
      largest = std::max(largest, score(b, h, query, key));
    }
    for (std::int64_t key = 0; key < a_.keys; ++key) {
      const double share = std::exp(score(b, h, query, key) - largest);
      sum += share;
      value += share * at(a_.v, b, h, key, element);
    }
    return value / sum;
  }

 private:
  double at(const HeadsView& x, std::int64_t b, std::int64_t h, std::int64_t row,
            std::int64_t element) const {
    const auto position = static_cast<std::size_t>(byoc::argument_position(region_, x.node));
    return element_as_double(tensors_[position], x.offset + b * x.batch_stride + h * x.head_stride +
                                                     row * x.row_stride + element);
  }

  double score(std::int64_t b, std::int64_t h, std::int64_t query, std::int64_t key) const {
    double score = 0;
    for (std::int64_t i = 0; i < a_.width; ++i) {
      score += at(a_.q, b, h, query, i) * at(a_.k, b, h, key, i);
    }
    const bool is_future = a_.is_causal && key > query;
    if (!a_.mask) return is_future ? -INFINITY : score * a_.scale;
    const double mask = at(*a_.mask, b, h, query, key);
    if (a_.mask_dtype.is_bool()) {
      return is_future || (mask != 0) != a_.seen ? a_.hidden : score * a_.scale;
    }
    return (is_future ? a_.hidden : score) * a_.scale + mask;
  }

  const Attention& a_;
  const relay::Function& region_;
  std::vector<Tensor> tensors_;
};

// All of `text` becomes one region; the kernel's description of it agrees with its operators.
void expect_agreement(const std::string& text) {
  SCOPED_TRACE(text);
  const auto calls =
      passes::parse_pipeline("fold-constant,eliminate-dead-code", passes::all_passes());
  auto folded = passes::run_passes(parse(text), *calls, ops::operators(), {});
  ASSERT_TRUE(folded);
  const byoc::BackendChoice choices[] = {{&cutlass_backend(), Target("cutlass")}};
  auto placed = byoc::partition_greedy(*ops::infer_types(std::move(folded->module)), choices);
  ASSERT_TRUE(placed);
  ASSERT_EQ(placed->regions.size(), 1u);
  const relay::Function& region = placed->module.functions.at(placed->regions[0].symbol);
  const auto a = describe_attention(region, placed->module.constants, Target("cutlass"));
  ASSERT_TRUE(a) << a.error().reason;
  const auto by_name = passes::testing::random_inputs(region);
  std::vector<Tensor> inputs;
  for (const relay::NodeId param : region.params()) {
    inputs.push_back(by_name.at(region.as<relay::Param>(param)->name));
  }
  const Tensor wanted = ops::evaluate(placed->module, region, inputs).front();
  const HostAttention host(*a, region, inputs);
  for (std::int64_t b = 0; b < a->batch; ++b) {
    for (std::int64_t h = 0; h < a->heads; ++h) {
      for (std::int64_t query = 0; query < a->queries; ++query) {
        for (std::int64_t i = 0; i < a->width; ++i) {
          const std::int64_t at =
              b * a->o.batch_stride + h * a->o.head_stride + query * a->o.row_stride + i;
          ASSERT_NEAR(host.result(b, h, query, i), element_as_double(wanted, at), 4e-3)
              << b << " " << h << " " << query << " " << i;
        }
      }
    }
  }
}

// Two batches of three heads of 8, ten queries and keys. %tril and the like are constants.
void expect_agreement_of(const std::string& body) {
  expect_agreement(fmt::format(R"(
def @main(%q: Tensor[(2, 10, 24), float16], %k: Tensor[(2, 10, 24), float16],
          %v: Tensor[(2, 10, 24), float16], %x: Tensor[(2, 10, 72), float16],
          %y: Tensor[(6, 10, 8), float16], %z: Tensor[(2, 10, 3, 8), float16],
          %m: Tensor[(2, 1, 1, 10), float16], %n: Tensor[(2, 3, 10, 10), float16],
          %s: Tensor[(2, 1, 10, 10), bool], %r: Tensor[(6, 1, 10), float16],
          %w: Tensor[(6, 10, 10), float32]) {{
  %0 = reshape(arange(0i64, 10i64, 1i64, dtype="int64"), newshape=[1, 1, 1, 10]);
  %1 = less_equal(%0, reshape(%0, newshape=[1, 1, 10, 1]));
  %2 = where(%1, 0f16, -65504f16);
  %3 = cast(%1, dtype="float16");
  %4 = multiply(subtract(1f16, %3), 10000f16);
  %5 = transpose(reshape(multiply(%q, 0.5f16), newshape=[2, 10, 3, 8]), axes=[0, 2, 1, 3]);
  %6 = transpose(reshape(%k, newshape=[2, 10, 3, 8]), axes=[0, 2, 3, 1]);
  %7 = transpose(reshape(%v, newshape=[2, 10, 3, 8]), axes=[0, 2, 1, 3]);
  %8 = reshape(%5, newshape=[6, 10, 8]);
  %9 = reshape(%7, newshape=[6, 10, 8]);
  %10 = nn.matmul(%8, reshape(%6, newshape=[6, 8, 10]), units=None);
  %11 = reshape(%10, newshape=[2, 3, 10, 10]);
  {}
}})",
                               body));
}

constexpr const char* kMerged =
    "  reshape(transpose(reshape(nn.matmul({}, %9, units=None), newshape=[2, 3, 10, 8]), "
    "axes=[0, 2, 1, 3]), newshape=[2, 10, 24])";

TEST(AttentionViews, CountedHeadsAgreeWithTheOperators) {
  for (const char* masked :
       {"%11", "add(%11, %m)", "add(%11, %n)", "add(%11, %2)", "add(add(%11, %2), %m)",
        "where(%s, %11, -65504f16)", "where(%s, where(%1, %11, -65504f16), -65504f16)",
        "subtract(multiply(%11, %3), %4)", "add(subtract(multiply(%11, %3), %4), %n)",
        "maximum(add(%11, %m), -65504f16)", "reshape(add(%10, %r), newshape=[2, 3, 10, 10])",
        "add(reshape(add(%10, %r), newshape=[2, 3, 10, 10]), %2)"}) {
    const std::string shares =
        fmt::format("nn.softmax(reshape({}, newshape=[6, 10, 10]), axis=2)", masked);
    expect_agreement_of(fmt::format(fmt::runtime(kMerged), shares));
    expect_agreement_of(fmt::format("nn.matmul({}, %9, units=None)", shares));
  }
  expect_agreement_of(fmt::format(fmt::runtime(kMerged),
                                  "cast(nn.softmax(add(cast(%10, dtype=\"float32\"), %w), axis=2), "
                                  "dtype=\"float16\")"));
}

TEST(AttentionViews, OtherFormsAgreeWithTheOperators) {
  for (const char* body : {
           // b of booleans
           "%12 = cast(%s, dtype=\"float16\");\n"
           "  %13 = multiply(subtract(1f16, %12), 10000f16);\n"
           "  nn.matmul(nn.softmax(subtract(multiply(%11, %12), %13), axis=3), %7, units=None)",
           // parts of a packed tensor, the scale after the transpose
           "%12 = strided_slice(%x, begin=[0], end=[24], strides=[1], axes=[2]);\n"
           "  %13 = transpose(reshape(%12, newshape=[2, 10, 3, 8]), axes=[0, 2, 1, 3]);\n"
           "  %14 = strided_slice(%x, begin=[24], end=[48], strides=[1], axes=[2]);\n"
           "  %15 = transpose(reshape(%14, newshape=[2, 10, 3, 8]), axes=[0, 2, 3, 1]);\n"
           "  %16 = strided_slice(%x, begin=[48], end=[72], strides=[1], axes=[2]);\n"
           "  %17 = transpose(reshape(%16, newshape=[2, 10, 3, 8]), axes=[0, 2, 1, 3]);\n"
           "  %18 = multiply(reshape(%13, newshape=[6, 10, 8]), 0.7f16);\n"
           "  %19 = nn.matmul(%18, reshape(%15, newshape=[6, 8, 10]), units=None);\n"
           "  nn.matmul(nn.softmax(%19, axis=2), reshape(%17, newshape=[6, 10, 8]), units=None)",
           // heads as they are, which the product transposes
           "nn.matmul(nn.softmax(divide(nn.batch_matmul(%y, %y, transpose_b=True), 3f16), axis=2), "
           "%y, units=None)",
           "nn.matmul(nn.softmax(add(nn.batch_matmul(%y, %y, transpose_b=True), %r), axis=2), %y, "
           "units=None)",
           // heads counted up to the scores only
           "nn.matmul(nn.softmax(add(%11, %n), axis=3), %7, units=None)",
           // one batch of heads without its dimension
           "%12 = strided_slice(%z, begin=[1], end=[2], strides=[1], axes=[0]);\n"
           "  %13 = transpose(reshape(%12, newshape=[10, 3, 8]), axes=[1, 0, 2]);\n"
           "  %14 = transpose(reshape(%12, newshape=[10, 3, 8]), axes=[1, 2, 0]);\n"
           "  nn.matmul(nn.softmax(nn.matmul(%13, %14, units=None), axis=2), %13, units=None)",
       }) {
    expect_agreement_of(body);
  }
}

}  // namespace
}  // namespace tessera::backends::cutlass
