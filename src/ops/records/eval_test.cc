// SPDX-License-Identifier: Apache-2.0
// Reference evaluation against values worked out by hand: what samples_test cannot see, because
// there the definition might share the mistake.
#include <cmath>

#include <gtest/gtest.h>

#include "ops/evaluation/evaluate.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"

namespace tessera::ops {
namespace {

using relay::AttrArray;
using relay::Attrs;
using relay::NodeId;
using Doubles = std::vector<double>;

Tensor f32(Ints shape, const Doubles& values) {
  return tensor_from_doubles(std::move(shape), kFloat32, values);
}
Tensor i64(Ints shape, const Ints& values) {
  return tensor_from_ints(std::move(shape), kInt64, values);
}

// All results of one call on constants. A call of a tuple operator takes all operands as one tuple.
std::vector<Tensor> evaluate(std::string_view name, const std::vector<Tensor>& operands,
                             Attrs attrs = {}) {
  relay::FunctionBuilder b;
  std::vector<NodeId> args;
  for (const Tensor& t : operands) args.push_back(b.constant(t));
  if (op(name).takes_tuples) args = {b.tuple(args)};
  const auto typed = infer_types(b.finish(b.call(op(name), args, std::move(attrs))));
  TESSERA_CHECK(typed.has_value(), "{}", typed.error().list[0].message);
  const auto& call = *typed->as<relay::OpCall>(typed->result());
  return call.op->eval({operands, call.attrs, typed->type(typed->result())});
}

void expect_values(const std::vector<Tensor>& results, const Ints& shape, const Doubles& values) {
  EXPECT_EQ(results[0].shape, shape);
  const auto all = values_of<double>(results[0]);
  const Doubles found(all.begin(), all.end());
  ASSERT_EQ(found.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (found[i] == values[i]) continue;  // infinities have no difference
    EXPECT_NEAR(found[i], values[i], 1e-5 * std::max(1.0, std::abs(values[i]))) << "element " << i;
  }
}

// Beyond 2^53, where float64 has no such number, and wrapped where the type has none.
TEST(Eval, IntegerPowersAreExact) {
  constexpr std::int64_t kMin = INT64_MIN, kMax = INT64_MAX;
  const auto power = [](const Ints& x, const Ints& y) {
    const auto n = static_cast<std::int64_t>(x.size());
    const auto all = values_of<std::int64_t>(evaluate("power", {i64({n}, x), i64({n}, y)})[0]);
    return Ints(all.begin(), all.end());
  };
  EXPECT_EQ(power({3, -3, 9007199254740993, 3, kMin, kMin, 7}, {39, 3, 1, 40, 1, 2, 0}),
            (Ints{4052555153018976267, -27, 9007199254740993, -6289078614652622815, kMin, 0, 1}));
  EXPECT_EQ(power({0, 1, -1, -1, 2, 0, -1, -1}, {kMax, kMax, kMax, kMax - 1, kMax, 0, kMin, 64}),
            (Ints{0, 1, -1, 1, 0, 1, 1, 1}));
  EXPECT_EQ(power({2, -2, 1, -1, -1, 0, kMin}, {-1, -1, -5, -5, -4, -1, -1}),
            (Ints{0, 0, 1, -1, 1, 0, 0}));
}

TEST(Eval, Elementwise) {
  expect_values(evaluate("subtract", {f32({2, 1}, {1, 2}), f32({3}, {1, 2, 3})}), {2, 3},
                {0, -1, -2, 1, 0, -1});
  expect_values(evaluate("mod", {i64({4}, {-7, 7, -7, 7}), i64({4}, {3, 3, -3, -3})}), {4},
                {-1, 1, -1, 1});
  expect_values(evaluate("floor_mod", {i64({4}, {-7, 7, -7, 7}), i64({4}, {3, 3, -3, -3})}), {4},
                {2, 1, -1, -2});
  expect_values(evaluate("divide", {i64({2}, {-7, 7}), i64({}, {2})}), {2}, {-3, 3});
  expect_values(evaluate("round", {f32({5}, {0.5, 1.5, 2.5, -0.5, -2.6})}), {5}, {0, 2, 2, 0, -3});
  expect_values(evaluate("erf", {f32({2}, {0, 1})}), {2}, {0, 0.8427008});
  expect_values(evaluate("clip", {f32({3}, {-1, 3, 7})}, {{"a_min", 0.0}, {"a_max", 6.0}}), {3},
                {0, 3, 6});
  expect_values(evaluate("nn.gelu", {f32({2}, {1, -1})}), {2}, {0.8413447, -0.1586553});
  expect_values(evaluate("cast", {f32({3}, {1.9, -1.9, 0.2})}, {{"dtype", kInt32}}), {3},
                {1, -1, 0});
  const Tensor wrapped = evaluate("cast", {i64({2}, {300, -1})}, {{"dtype", kUInt8}})[0];
  EXPECT_EQ(values_of<std::int64_t>(wrapped), (Ints{44, 255}));
}

TEST(Eval, Uint64BeyondInt64) {
  const Tensor big = tensor_from_ints({1}, kUInt64, Ints{-1}),
               one = tensor_from_ints({1}, kUInt64, Ints{1});
  EXPECT_EQ(values_of<std::int64_t>(evaluate("less", {one, big})[0]), Ints{1});
  EXPECT_EQ(values_of<std::int64_t>(
                evaluate("right_shift", {big, tensor_from_ints({1}, kUInt64, Ints{63})})[0]),
            Ints{1});
}

// As for a reduction of nothing.
TEST(Eval, TheGreatestOfABorderIsTheLeastNumberOfTheType) {
  const relay::Attrs window = {{"pool_size", AttrArray{2}}, {"padding", AttrArray{1, 1}}};
  for (const auto& [dtype, least] : {std::pair(kInt8, -128), std::pair(kUInt8, 0)}) {
    const Tensor nothing = tensor_from_ints({1, 1, 0}, dtype, Ints{});
    const Tensor y = evaluate("nn.max_pool1d", {nothing}, window)[0];
    EXPECT_EQ(values_of<std::int64_t>(y), Ints{least});
    const Tensor no_image = tensor_from_ints({1, 1, 0, 2}, dtype, Ints{});
    const Tensor whole = evaluate("nn.global_max_pool2d", {no_image})[0];
    EXPECT_EQ(values_of<std::int64_t>(whole), Ints{least});
  }
}

// Pairs that agree with each other give back what they are of.
TEST(Eval, ProbabilitiesOfPairs) {
  Attrs attrs;
  attrs.set("classes", std::int64_t{3});
  const Tensor pairs = f32({1, 3}, {0.5 / 0.8, 0.5 / 0.7, 0.3 / 0.5});
  const auto found = values_of<double>(evaluate("pairwise_coupling", {pairs}, attrs)[0]);
  EXPECT_NEAR(found[0], 0.5, 0.01);
  EXPECT_NEAR(found[1], 0.3, 0.01);
  EXPECT_NEAR(found[0] + found[1] + found[2], 1, 1e-5);
}

TEST(Eval, Movement) {
  expect_values(
      evaluate("transpose", {f32({2, 3}, {1, 2, 3, 4, 5, 6})}, {{"axes", relay::AttrValue()}}),
      {3, 2}, {1, 4, 2, 5, 3, 6});
  expect_values(
      evaluate("concatenate", {f32({2, 1}, {1, 2}), f32({2, 2}, {3, 4, 5, 6})}, {{"axis", 1}}),
      {2, 3}, {1, 3, 4, 2, 5, 6});
  expect_values(evaluate("strided_slice", {f32({5}, {0, 1, 2, 3, 4})},
                         {{"begin", AttrArray{-1}},
                          {"end", AttrArray{-6}},
                          {"strides", AttrArray{-2}},
                          {"axes", AttrArray{0}}}),
                {3}, {4, 2, 0});
  expect_values(evaluate("nn.pad", {f32({3}, {1, 2, 3}), f32({}, {9})},
                         {{"pad_width", AttrArray(1, AttrArray{2, 1})}, {"pad_mode", "reflect"}}),
                {6}, {3, 2, 1, 2, 3, 2});
  expect_values(evaluate("take", {f32({3, 2}, {1, 2, 3, 4, 5, 6}), i64({2}, {-1, 0})},
                         {{"axis", 0}, {"mode", "wrap"}}),
                {2, 2}, {5, 6, 1, 2});
  expect_values(evaluate("gather_nd", {f32({2, 2}, {1, 2, 3, 4}), i64({2, 2}, {0, 1, 0, 1})}), {2},
                {1, 4});
  expect_values(
      evaluate("scatter_elements", {f32({4}, {1, 2, 3, 4}), i64({2}, {1, 1}), f32({2}, {10, 20})},
               {{"reduction", "add"}}),
      {4}, {1, 32, 3, 4});
  expect_values(evaluate("trilu", {f32({2, 2}, {1, 2, 3, 4}), i64({}, {0})}), {2, 2}, {1, 2, 0, 4});
  expect_values(evaluate("cumsum", {f32({3}, {1, 2, 3})}, {{"axis", 0}, {"exclusive", true}}), {3},
                {0, 1, 3});
  const auto top = evaluate("topk", {f32({4}, {3, 1, 3, 2})}, {{"k", 3}});
  expect_values(top, {3}, {3, 3, 2});
  EXPECT_EQ(values_of<std::int64_t>(top[1]), (Ints{0, 2, 3}));
}

TEST(Eval, Reductions) {
  expect_values(evaluate("mean", {f32({2, 2}, {1, 2, 3, 4})}, {{"axis", AttrArray{0}}}), {2},
                {2, 3});
  expect_values(evaluate("max", {f32({2, 0}, {})}, {{"axis", AttrArray{1}}}), {2},
                {-HUGE_VAL, -HUGE_VAL});
  expect_values(evaluate("argmax", {f32({4}, {1, 5, 5, 2})}, {{"select_last_index", true}}), {},
                {2});
  expect_values(evaluate("nn.softmax", {f32({2}, {1000, 1000 + std::log(3)})}), {2}, {0.25, 0.75});
  expect_values(evaluate("nn.layer_norm", {f32({1, 2}, {1, 3}), f32({2}, {2, 2}), f32({2}, {1, 1})},
                         {{"epsilon", 0.0}}),
                {1, 2}, {-1, 3});
}

// As they do in loops.
TEST(Eval, SumsOfIntegersWrap) {
  const Tensor most = i64({2}, {INT64_MAX, INT64_MAX});
  EXPECT_EQ(element_as_int(evaluate("sum", {most})[0], 0), -2);
  EXPECT_EQ(element_as_int(evaluate("prod", {most})[0], 0), 1);
  const Tensor row = i64({1, 2}, {INT64_MAX, INT64_MAX});
  const Tensor product = evaluate("nn.dense", {row, row}, {{"units", 1}})[0];
  EXPECT_EQ(element_as_int(product, 0), 2);
}

TEST(Eval, ProductsAndWindows) {
  expect_values(
      evaluate("nn.dense", {f32({1, 2}, {1, 2}), f32({2, 2}, {3, 4, 5, 6})}, {{"units", 2}}),
      {1, 2}, {11, 17});
  expect_values(evaluate("nn.matmul", {f32({2, 1}, {1, 2}), f32({2, 2}, {3, 4, 5, 6})},
                         {{"units", relay::AttrValue()}, {"transpose_a", true}}),
                {1, 2}, {13, 16});
  expect_values(evaluate("nn.conv2d",
                         {f32({1, 1, 2, 2}, {1, 2, 3, 4}), f32({1, 1, 2, 2}, {1, 10, 100, 1000})},
                         {{"padding", AttrArray{0, 1, 0, 0}}}),
                {1, 1, 1, 2}, {3010, 4321});
  expect_values(
      evaluate("nn.conv2d_transpose", {f32({1, 1, 1, 2}, {1, 2}), f32({1, 1, 1, 2}, {1, 10})},
               {{"strides", AttrArray{1, 2}}}),
      {1, 1, 1, 4}, {1, 10, 2, 20});
  expect_values(evaluate("nn.avg_pool1d", {f32({1, 1, 3}, {2, 4, 6})},
                         {{"pool_size", AttrArray{2}}, {"padding", AttrArray{1}}}),
                {1, 1, 4}, {2, 3, 5, 6});
  expect_values(
      evaluate(
          "nn.avg_pool1d", {f32({1, 1, 3}, {2, 4, 6})},
          {{"pool_size", AttrArray{2}}, {"padding", AttrArray{1}}, {"count_include_pad", true}}),
      {1, 1, 4}, {1, 3, 5, 3});
  expect_values(evaluate("image.resize", {f32({2}, {1, 3})}, {{"size", AttrArray{4}}}), {4},
                {1, 1.5, 2.5, 3});
  expect_values(
      evaluate("einsum", {f32({2, 2}, {1, 2, 3, 4}), f32({2}, {1, 10})}, {{"equation", "ij,j"}}),
      {2}, {21, 43});
}

TEST(Eval, Quantisation) {
  const Tensor q = evaluate(
      "qnn.quantize",
      {f32({4}, {0.25, -10, 10, 0.75}), f32({}, {0.5}), tensor_from_ints({}, kInt8, Ints{1})},
      {{"out_dtype", kInt8}})[0];
  EXPECT_EQ(values_of<std::int64_t>(q), (Ints{1, -19, 21, 3}));
}

}  // namespace
}  // namespace tessera::ops
