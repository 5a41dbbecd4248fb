// SPDX-License-Identifier: Apache-2.0
#include "relay/rewrite.h"

#include <gtest/gtest.h>

#include "relay/testing/operators.h"

namespace tessera::relay {
namespace {

using testing::op;

const Type kVector = tensor_type({4}, kFloat32);

TEST(FunctionBuilder, RefusesForwardReferencesAndOpenRegions) {
  FunctionBuilder b;
  const NodeId x = b.param("x", kVector);
  EXPECT_THROW(b.call(op("nn.relu"), {NodeId(7)}), InternalError);
  EXPECT_THROW(b.call(op("nn.relu"), {x}, {{"axis", 1}}), InternalError);
  b.begin_region();
  EXPECT_THROW(b.finish(x), InternalError);
}

// if (c) { relu(x) } else { x }, with a dead node in front.
Function make_branch() {
  FunctionBuilder b;
  const NodeId x = b.param("x", kVector);
  const NodeId c = b.param("c", tensor_type({}, kBool));
  b.call(op("exp"), {x});
  const RegionId yes = b.begin_region();
  b.end_region(b.call(op("nn.relu"), {x}));
  const RegionId no = b.begin_region();
  b.end_region(x);
  return b.finish(b.if_(c, yes, no));
}

TEST(Rewrite, CopiesRegionsAndDropsDeadNodes) {
  const Function f = make_branch();
  EXPECT_EQ(f.num_nodes(), 5u);
  const Function g = without_dead_nodes(f);
  EXPECT_EQ(g.num_nodes(), 4u);
  const If* branch = g.as<If>(g.result());
  ASSERT_NE(branch, nullptr);
  EXPECT_EQ(g.op(g.region(branch->then_region).result), &op("nn.relu"));
  EXPECT_EQ(g.region(branch->else_region).result, g.params()[0]);
  EXPECT_EQ(g.region(branch->else_region).owner, g.result());
  EXPECT_EQ(captures(g)[g.result().index()], (std::vector<NodeId>{g.params()[0]}));
}

TEST(Rewrite, CallbackReplacesAndDrops) {
  FunctionBuilder b;
  const NodeId x = b.param("x", kVector);
  const NodeId dropout = b.call(op("nn.dropout"), {b.call(op("nn.relu"), {x})});
  const Function f =
      b.finish(b.call(op("exp"), {b.project(dropout, 0)}), {{"Primitive", 1}}, kVector);
  const Function g = rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
    const Project* p = f.as<Project>(id);
    if (p == nullptr || f.op(f.operands(id)[0]) != &op("nn.dropout")) return std::nullopt;
    return c.map(f.operands(f.operands(id)[0])[0]);
  });
  EXPECT_EQ(g.num_nodes(), 3u);
  EXPECT_EQ(g.op(g.operands(g.result())[0]), &op("nn.relu"));
  EXPECT_EQ(g.attrs.int_or_zero("Primitive"), 1);
  EXPECT_EQ(g.result_annotation, kVector);
}

TEST(Rewrite, ReplacedParameterIsGone) {
  FunctionBuilder b;
  const NodeId x = b.param("x", kVector);
  const NodeId w = b.param("w", kVector);
  const Function f = b.finish(b.call(op("add"), {x, w}));
  const Function g = rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
    if (id != w) return std::nullopt;
    return c.builder().constant(
        tensor_from_doubles({4}, kFloat32, std::vector<double>{1, 2, 3, 4}));
  });
  EXPECT_EQ(g.params().size(), 1u);
  EXPECT_NE(g.as<Constant>(g.operands(g.result())[1]), nullptr);
}

TEST(Uses, CountsOperandsAndRegionResults) {
  const Function f = make_branch();
  const Uses uses(f);
  const NodeId x = f.params()[0];
  EXPECT_EQ(uses.of(x).size(), 3u) << "exp, relu, and the else branch";
  EXPECT_EQ(uses.of(x).back(), f.result());
  EXPECT_TRUE(uses.is_result(f.result()));
}

TEST(Extract, ParametersComeInEvaluationOrder) {
  FunctionBuilder b;
  const NodeId x = b.param("x", kVector), y = b.param("y", kVector);
  const NodeId ex = b.call(op("exp"), {x}), ey = b.call(op("exp"), {y});
  const NodeId sum = b.call(op("add"), {ey, ex});
  const Function f = b.finish(b.tuple(std::vector{sum, ex}));
  const Uses uses(f);

  const Extracted one = extract(f, uses, std::vector{sum, ex, ey});
  EXPECT_EQ(one.outputs, (std::vector{ex, sum}));
  EXPECT_EQ(one.inputs, (std::vector{x, y})) << "the first output is exp(x)";
  EXPECT_NE(one.function.as<Tuple>(one.function.result()), nullptr);

  const Extracted two = extract(f, uses, std::vector{sum, ey}, {.param_prefix = "i", .attrs = {}});
  EXPECT_EQ(two.inputs, (std::vector{y, ex}));
  EXPECT_EQ(two.function.as<Param>(two.function.params()[1])->name, "i1");
  EXPECT_EQ(two.function.op(two.function.result()), &op("add"));
}

TEST(Extract, TakesRegionsAlong) {
  const Function f = without_dead_nodes(make_branch());
  const Extracted e = extract(f, Uses(f), std::vector{f.result()});
  EXPECT_EQ(e.inputs.size(), 2u) << "condition, and what the branches read";
  EXPECT_NE(e.function.as<If>(e.function.result()), nullptr);
  EXPECT_EQ(e.function.num_nodes(), 4u);
}

TEST(EmbedAndOutline, AreInverse) {
  const Function f = without_dead_nodes(make_branch());
  FunctionBuilder b;
  const NodeId x = b.param("x", kVector), c = b.param("c", tensor_type({}, kBool));
  const NodeId literal = embed(b, f);
  const Function g = b.finish(b.call_value(literal, std::vector{x, c}));
  const Function back = outline(g, literal);
  EXPECT_EQ(back.num_nodes(), f.num_nodes());
  EXPECT_EQ(back.params().size(), 2u);
  EXPECT_NE(back.as<If>(back.result()), nullptr);

  FunctionBuilder caller;
  const NodeId arg = caller.param("a", kVector), cond = caller.param("b", tensor_type({}, kBool));
  const NodeId result = inline_call(caller, f, std::vector{arg, cond});
  const Function h = caller.finish(result);
  EXPECT_EQ(h.num_nodes(), f.num_nodes());
  EXPECT_EQ(h.region(h.as<If>(h.result())->else_region).result, arg);
}

TEST(Rewrite, BranchesCanBeDissolved) {
  const Function f = without_dead_nodes(make_branch());
  int asked = 0;
  const auto take = [&](std::size_t branch) {
    return rewrite(
        f,
        [&](Copier& c, NodeId id) -> std::optional<NodeId> {
          if (f.as<If>(id) == nullptr) return std::nullopt;
          const RegionId region = regions_of(f, id)[branch];
          EXPECT_TRUE(c.is_dissolved(region));
          return c.map(f.region(region).result);
        },
        [&](Copier&, RegionId) { return ++asked > 0; });
  };
  const Function yes = take(0), no = take(1);
  EXPECT_EQ(asked, 4) << "once a region, also of one without nodes";
  EXPECT_EQ(yes.num_regions(), 1u);
  EXPECT_EQ(yes.op(yes.result()), &op("nn.relu"));
  EXPECT_EQ(no.result(), no.params()[0]);
}

TEST(Rewrite, NoRegionStaysWithoutOwner) {
  FunctionBuilder b;
  const NodeId x = b.param("x", kVector), c = b.param("c", tensor_type({}, kBool));
  const RegionId yes = b.begin_region();
  b.end_region(x);
  const RegionId no = b.begin_region();
  b.end_region(x);
  const Function f = b.finish(b.if_(c, yes, no));
  const Function g = rewrite(f, [&](Copier& copier, NodeId id) -> std::optional<NodeId> {
    return f.as<If>(id) != nullptr ? std::optional(copier.map(x)) : std::nullopt;
  });
  EXPECT_EQ(g.num_regions(), 1u);
}

TEST(Rewrite, LongChainsAreCheap) {
  FunctionBuilder b;
  NodeId v = b.param("x", kVector);
  for (int i = 0; i < 90'000; ++i) v = b.call(op("nn.relu"), {v});
  const Function f = b.finish(v);
  int seen = 0;
  const Function g = rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
    if (f.op(id) == nullptr || ++seen % 2 == 0) return std::nullopt;
    return c.map(f.operands(id)[0]);
  });
  EXPECT_EQ(g.num_nodes(), 45'001u);
}

}  // namespace
}  // namespace tessera::relay
