// SPDX-License-Identifier: Apache-2.0
#include "relay/patterns/indexed_graph.h"

#include <gtest/gtest.h>

#include "relay/testing/operators.h"

namespace tessera::relay {
namespace {

using testing::op;

const Type kVector = tensor_type({4}, kFloat32);

TEST(IndexedGraph, CalleeArgumentsCallAndOperatorsOnce) {
  FunctionBuilder b;
  const NodeId x = b.param("x", kVector);
  const NodeId r1 = b.call(op("nn.relu"), {x});
  const NodeId r2 = b.call(op("nn.relu"), {r1});
  const NodeId e = b.call(op("exp"), {r1});
  const NodeId sum = b.call(op("add"), {r2, e});
  const Function f = b.finish(sum);
  const IndexedGraph g(f);
  // 0 x, 1 add, 2 nn.relu, 3 r1, 4 r2, 5 exp, 6 e, 7 sum, 8 the function
  EXPECT_EQ(g.size(), 9u);
  EXPECT_EQ(g.index_of(x), 0u);
  EXPECT_EQ(g[1].op, &op("add"));
  EXPECT_EQ(g[2].op, &op("nn.relu"));
  EXPECT_EQ(g.index_of(r1), 3u);
  EXPECT_EQ(g.index_of(r2), 4u);
  EXPECT_EQ(g.index_of(e), 6u);
  EXPECT_EQ(g.index_of(sum), 7u);
  EXPECT_EQ(g[8].kind, IndexedKind::kFunction);
  EXPECT_EQ(g[8].inputs, std::vector<std::uint32_t>{7});
  EXPECT_EQ(g[3].inputs, (std::vector<std::uint32_t>{2, 0}));
  EXPECT_EQ(g[3].dominator, 7u) << "both paths from r1 meet in the sum";
  EXPECT_TRUE(g.dominates(7, 3));
  EXPECT_FALSE(g.dominates(4, 3));
  EXPECT_FALSE(g.dominates(3, 3));
  EXPECT_EQ(g[3].basic_block, 8u);
}

TEST(IndexedGraph, LetsLiteralsAndBranches) {
  FunctionBuilder b;
  const NodeId x = b.param("x", kVector), c = b.param("c", tensor_type({}, kBool));
  const RegionId body = b.begin_region();
  const NodeId p = b.param("p", kVector);
  const NodeId inner = b.call(op("exp"), {p});
  b.end_region(inner);
  const NodeId literal = b.literal(body, {});
  const NodeId call = b.call_value(literal, std::vector{x});
  const NodeId let = b.let("y", call);
  const RegionId yes = b.begin_region();
  const NodeId relu = b.call(op("nn.relu"), {let});
  b.end_region(relu);
  const RegionId no = b.begin_region();
  b.end_region(let);
  const NodeId branch = b.if_(c, yes, no);
  const Function f = b.finish(branch);
  const IndexedGraph g(f);
  // 0 x 1 c 2 p 3 exp 4 inner 5 literal 6 call 7 y 8 nn.relu 9 relu 10 if 11 let 12 function
  ASSERT_EQ(g.size(), 13u);
  EXPECT_EQ(g.index_of(literal), 5u);
  EXPECT_EQ(g.index_of(let), 7u);
  EXPECT_EQ(g.index_of(branch), 10u);
  EXPECT_EQ(g[11].kind, IndexedKind::kLet);
  EXPECT_EQ(g[11].inputs, std::vector<std::uint32_t>{10});
  EXPECT_EQ(g[5].inputs, std::vector<std::uint32_t>{4}) << "of a literal, the body only";
  EXPECT_EQ(g[10].inputs, (std::vector<std::uint32_t>{1, 9, 7}));
  EXPECT_EQ(g[4].basic_block, 5u);
  EXPECT_EQ(g[9].basic_block, 10u);
  EXPECT_EQ(g[1].basic_block, 12u);
  EXPECT_EQ(g[12].inputs, std::vector<std::uint32_t>{11});
  EXPECT_TRUE(g.dominates(10, 7));
}

TEST(IndexedGraph, LongChainsAreCheap) {
  FunctionBuilder b;
  NodeId v = b.param("x", kVector);
  for (int i = 0; i < 90'000; ++i) v = b.call(op("add"), {v, v});
  const Function f = b.finish(v);
  EXPECT_EQ(IndexedGraph(f).size(), 90'003u);
}

}  // namespace
}  // namespace tessera::relay
