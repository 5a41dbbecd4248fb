// SPDX-License-Identifier: Apache-2.0
#include "collage/sub_graph.h"

#include <gtest/gtest.h>

#include "collage/testing/graphs.h"
#include "collage/testing/texts.h"

namespace tessera::collage {
namespace {

using testing::NamedGraph;

// relu at 4, abs at 5, relu at 6, add at 7, and a tuple of add and abs at 8.
constexpr const char* kDiamond = R"(
def @main(%x: Tensor[(10, 10), float32]) {
  %0 = nn.relu(%x);
  %1 = abs(%0);
  %2 = nn.relu(%0);
  %3 = add(%1, %2);
  (%3, %1)
})";

TEST(SubGraphs, EntriesExitsInputsAndOutputs) {
  const NamedGraph g(kDiamond);
  const SubGraph s = g.sub_graph({5, 6, 7});
  EXPECT_EQ(to_string(s.entry()), "{5,6}");
  EXPECT_EQ(to_string(s.exit()), "{5,7}");
  EXPECT_EQ(to_string(s.input(g.graph)), "{4}");
  EXPECT_EQ(to_string(s.output()), "{8}");
  EXPECT_EQ(s.depth(), 2u);
  EXPECT_EQ(s.kind(), relay::OpPattern::kBroadcast);
  EXPECT_EQ(s.label(), "abs+nn.relu+add");
  EXPECT_EQ(g.sub_graph({4}).depth(), 1u);
  EXPECT_EQ(g.sub_graph({1}).depth(), 0u) << "an operator reads nothing";
}

TEST(SubGraphs, ExitsAndDepthAreLimited) {
  const NamedGraph g(kDiamond);
  const SubGraph s = g.sub_graph({4, 5, 6, 7});
  EXPECT_EQ(s.depth(), 3u);
  EXPECT_TRUE(s.is_valid(g.graph, {2, true, 3}));
  EXPECT_TRUE(s.is_valid(g.graph, {0, true, 0}));
  EXPECT_FALSE(s.is_valid(g.graph, {1, true, 3}));
  EXPECT_FALSE(s.is_valid(g.graph, {2, true, 2}));
  EXPECT_FALSE(s.is_valid(g.graph, {2, false, 3})) << "abs is read outside and by add";
}

TEST(SubGraphs, NothingLeadsOutAndBack) {
  const NamedGraph g(kDiamond);
  EXPECT_FALSE(g.sub_graph({4, 7}).is_valid(g.graph, {0, true, 0}));
  EXPECT_FALSE(g.sub_graph({4, 5, 7}).is_valid(g.graph, {0, true, 0}));
  EXPECT_TRUE(g.sub_graph({5, 6}).is_valid(g.graph, {0, true, 0})) << "neighbours need no edge";
}

TEST(SubGraphs, LieInOneBasicBlock) {
  const NamedGraph g(R"(
def @main(%x: Tensor[(10), float32], %c: bool) {
  %0 = nn.relu(%x);
  if (%c) { abs(%0) } else { tanh(%0) }
})");
  std::vector<Index> relu, abs;
  for (Index i = 0; i < g.graph.size(); ++i) {
    if (g.graph.facts(i).label == "nn.relu") relu.push_back(i);
    if (g.graph.facts(i).label == "abs") abs.push_back(i);
  }
  EXPECT_TRUE(g.sub_graph(abs).is_valid(g.graph, {}));
  EXPECT_FALSE(g.sub_graph({relu[0], abs[0]}).is_valid(g.graph, {}));
}

TEST(SubGraphs, NestedOnesAreDisjointParts) {
  const NamedGraph g(testing::kChain);
  const auto nested = [&](std::vector<Index> inside) {
    return NestedSubGraph{g.sub_graph(std::move(inside)), {{"Composite", "c"}}};
  };
  const auto valid = [&](std::vector<NestedSubGraph> parts) {
    return SubGraph(g.graph, IndexSet(g.graph.size(), {4, 5}), std::move(parts))
        .is_valid(g.graph, {});
  };
  EXPECT_TRUE(valid({nested({4}), nested({5})}));
  EXPECT_FALSE(valid({nested({4}), nested({4, 5})}));
  EXPECT_FALSE(valid({nested({3, 4})}));
}

TEST(SubGraphs, TouchWhereNothingElseFlowsBetween) {
  const NamedGraph g(kDiamond);
  const auto touching = [&](std::vector<Index> a, std::vector<Index> b) {
    return are_touching(g.graph, g.sub_graph(std::move(a)), g.sub_graph(std::move(b)));
  };
  EXPECT_TRUE(touching({4}, {5}));
  EXPECT_FALSE(touching({5}, {4})) << "upstream comes first";
  EXPECT_FALSE(touching({5}, {6}));
  EXPECT_TRUE(touching({5}, {7}));
  EXPECT_FALSE(touching({4, 5}, {7})) << "relu at 6 is on another way";
  EXPECT_TRUE(touching({4, 5}, {6, 7}));
  EXPECT_FALSE(touching({4, 5}, {5, 7}));
}

TEST(SubGraphs, WrappersJoinAndCompositesDoNot) {
  const NamedGraph g(testing::kChain);
  const relay::Attrs wrapper{{"Primitive", 1}, {"Compiler", "c"}};
  const auto wrapped = [&](Index index) {
    return g.sub_graph({index}).with_attrs({{"Composite", "relu"}}).with_attrs(wrapper);
  };
  const SubGraph parts[] = {wrapped(4), wrapped(5)};
  const SubGraph both = SubGraph::join(g.graph, parts);
  EXPECT_EQ(both.label(), "nn.relu+nn.relu");
  ASSERT_EQ(both.nested().size(), 1u);
  EXPECT_EQ(both.nested()[0].sub_graph.inside(), both.inside());
  EXPECT_EQ(both.nested()[0].sub_graph.nested().size(), 2u);
  EXPECT_TRUE(wrapped(4) == g.sub_graph({4}).with_attrs({}).with_attrs({}))
      << "attributes do not count";
  EXPECT_FALSE(wrapped(4) == g.sub_graph({4}));
}

TEST(SubGraphs, AreOrderedByTheirFirstNode) {
  const NamedGraph g(testing::kChain);
  EXPECT_TRUE(g.sub_graph({3, 4}) < g.sub_graph({3}));
  EXPECT_TRUE(g.sub_graph({3}) < g.sub_graph({4, 5}));
}

TEST(Costs, Text) {
  EXPECT_EQ(to_string(Cost()), "unknown");
  EXPECT_EQ(to_string(Cost::invalid("it has no library")), "invalid");
  EXPECT_EQ(to_string(Cost::of(0)), "0");
  EXPECT_EQ(to_string(Cost::of(0.0015)), "1500.000000us");
}

TEST(Costs, Sums) {
  EXPECT_EQ((Cost::of(1) + Cost::of(2)).seconds(), 3);
  EXPECT_EQ((Cost::of(1) + Cost::invalid("why")).why_invalid(), "why");
  EXPECT_TRUE((Cost::of(1) + Cost::invalid("why")).is_invalid());
  EXPECT_FALSE((Cost::of(1) + Cost()).is_known());
}

}  // namespace
}  // namespace tessera::collage
