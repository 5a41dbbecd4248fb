// SPDX-License-Identifier: Apache-2.0
#include "relay/patterns/pattern.h"

#include <gtest/gtest.h>

#include "relay/testing/operators.h"

namespace tessera::relay {
namespace {

using testing::op;

const Type kMatrix = tensor_type({4, 4}, kFloat32);

Tensor scalar(double v) {
  return tensor_from_doubles({}, kFloat32, std::span<const double>(&v, 1));
}

struct Graph {
  FunctionBuilder b;
  NodeId x = b.param("x", kMatrix), w = b.param("w", kMatrix), bias = b.param("bias", kMatrix);
  NodeId dense = b.call(op("nn.dense"), {x, w}, {{"units", AttrValue()}});
  NodeId sum = b.call(op("add"), {bias, dense});
  NodeId relu = b.call(op("nn.relu"), {sum});
};

// The function so far, with `root` as its result.
std::optional<Match> match_at(const Graph& g, const Pattern& pattern, NodeId root) {
  static std::vector<std::unique_ptr<Function>> held;
  FunctionBuilder builder = g.b;
  held.push_back(std::make_unique<Function>(builder.finish(root)));
  return match(*held.back(), pattern, root);
}

TEST(Pattern, CallsMatchAndAddCommutes) {
  Graph g;
  const Pattern dense = is_op("nn.dense", {wildcard("x"), wildcard("w")}, "dense");
  const Pattern p = is_op("nn.relu", {is_op("add", {dense, wildcard("bias")})});
  const auto m = match_at(g, p, g.relu);
  ASSERT_TRUE(m.has_value());
  EXPECT_EQ(m->inside, (std::vector{g.dense, g.sum, g.relu}));
  EXPECT_EQ(m->inputs, (std::vector{g.x, g.w, g.bias}));
  EXPECT_EQ(m->find("bias"), g.bias);
  EXPECT_EQ(m->find("dense"), g.dense);
  EXPECT_FALSE(m->find("other"));
  EXPECT_FALSE(match_at(g, p, g.sum));

  const Pattern ordered = is_op("subtract", {wildcard(), dense});
  const NodeId difference = g.b.call(op("subtract"), {g.dense, g.bias});
  EXPECT_FALSE(match_at(g, ordered, difference)) << "only add and multiply commute";
}

TEST(Pattern, OneObjectIsOneValue) {
  Graph g;
  const Pattern x = wildcard();
  const Pattern square = is_op("multiply", {x, x});
  EXPECT_TRUE(match_at(g, square, g.b.call(op("multiply"), {g.sum, g.sum})));
  EXPECT_FALSE(match_at(g, square, g.b.call(op("multiply"), {g.sum, g.x})));
  const Pattern product = is_op("multiply", {wildcard(), wildcard()});
  EXPECT_TRUE(match_at(g, product, g.b.call(op("multiply"), {g.sum, g.x})));
}

TEST(Pattern, OptionalAndAlternatives) {
  Graph g;
  const Pattern dense = is_op("nn.dense", {wildcard(), wildcard()});
  const Pattern p = is_op("add", {dense, wildcard()}).optional([](Pattern q) {
    return is_op("nn.relu", {q}, "act");
  });
  EXPECT_EQ(match_at(g, p, g.relu)->find("act"), g.relu);
  const auto without = match_at(g, p, g.sum);
  ASSERT_TRUE(without.has_value());
  EXPECT_FALSE(without->find("act")) << "what a failed branch captured is forgotten";
  EXPECT_TRUE(match_at(g, is_op("exp", {wildcard()}) | is_op_any_args("add"), g.sum));
}

TEST(Pattern, ConstantsAreInsideOnlyWhenAskedFor) {
  Graph g;
  const NodeId half = g.b.constant(scalar(0.1));
  const NodeId scaled = g.b.call(op("multiply"), {half, g.x});
  const auto inside = match_at(g, is_op("multiply", {is_constant(), wildcard()}), scaled);
  ASSERT_TRUE(inside.has_value());
  EXPECT_EQ(inside->inside, (std::vector{half, scaled}));
  EXPECT_EQ(inside->inputs, std::vector{g.x});
  const auto outside = match_at(g, is_op("multiply", {wildcard(), wildcard()}), scaled);
  EXPECT_EQ(outside->inputs, (std::vector{half, g.x}));
  EXPECT_TRUE(match_at(g, is_scalar(0.1), half)) << "0.1 as a float32";
  EXPECT_FALSE(match_at(g, is_scalar(0.5), half));
  EXPECT_TRUE(match_at(g, is_constant().has_dtype(kFloat32).has_shape({}), half));
  EXPECT_FALSE(match_at(g, is_constant().has_dtype(kFloat16), half));
}

TEST(Pattern, AttributesIncludeDefaults) {
  Graph g;
  const NodeId softmax = g.b.call(op("nn.softmax"), {g.x});
  const NodeId other = g.b.call(op("nn.softmax"), {g.x}, {{"axis", 1}});
  const Pattern any = is_op("nn.softmax", {wildcard()});
  EXPECT_TRUE(match_at(g, any.has_attr("axis", -1), softmax));
  EXPECT_FALSE(match_at(g, any.has_attr("axis", -1), other));
  EXPECT_FALSE(match_at(g, any.has_attr("nothing", 1), other));
  const NodeId clip = g.b.call(op("clip"), {g.x}, {{"a_min", 0}, {"a_max", 6}});
  EXPECT_TRUE(match_at(g, is_op_any_args("clip").has_attr("a_max", 6), clip));
}

TEST(Pattern, TuplesProjectionsAndVariables) {
  Graph g;
  const NodeId pair = g.b.tuple(std::vector{g.x, g.dense});
  const NodeId first = g.b.project(pair, 0);
  EXPECT_TRUE(match_at(g, is_project(is_tuple({is_var("x"), wildcard()})), first));
  EXPECT_FALSE(match_at(g, is_project(is_tuple({is_var("y"), wildcard()})), first));
  EXPECT_FALSE(match_at(g, is_project(wildcard(), 1), first));
  EXPECT_FALSE(match_at(g, is_tuple({wildcard()}), pair));
  EXPECT_FALSE(match_at(g, is_var(), pair));
}

}  // namespace
}  // namespace tessera::relay
