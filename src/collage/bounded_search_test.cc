// SPDX-License-Identifier: Apache-2.0
// The search by levels finds what the shortest path over covered sets has, as long as nothing is
// dropped, and stays fast where that does not.
#include <algorithm>
#include <ctime>
#include <set>

#include <gtest/gtest.h>

#include "collage/search.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "support/hash.h"

namespace tessera::collage {
namespace {

const Type kSmall = tensor_type({8, 8}, kFloat32);

// `width` branches of `depth` operators each, joined by sums, `blocks` times.
Module parallel(int blocks, int width, int depth) {
  relay::FunctionBuilder b;
  relay::NodeId x = b.param("x", kSmall);
  const relay::Operator& relu = *ops::operators().find("nn.relu");
  const relay::Operator& add = *ops::operators().find("add");
  for (int block = 0; block < blocks; ++block) {
    relay::NodeId sum;
    for (int w = 0; w < width; ++w) {
      relay::NodeId y = x;
      for (int d = 0; d < depth; ++d) y = b.call(relu, {y});
      sum = w == 0 ? y : b.call(add, {sum, y});
    }
    x = sum;
  }
  Module module;
  module.functions["main"] = b.finish(x);
  return ops::infer_types(std::move(module)).value();
}

// A number from 1 to 2 that follows from the seed.
double random_cost(std::uint64_t seed) {
  return 1 + static_cast<double>(hash_combine(seed, 0x9e3779b97f4a7c15ull) % 1000) / 1000;
}

// Each node alone, and sets of some that need not be neighbours: a search knows no shapes.
std::vector<Candidate> candidates_of(const DataflowGraph& graph, const PlacementSpec& spec,
                                     std::uint64_t seed, std::size_t reach) {
  std::vector<Candidate> out;
  const auto add = [&](std::vector<Index> members) {
    Candidate candidate{"", SubGraph(graph, IndexSet(graph.size(), std::move(members))), &spec};
    candidate.cost = Cost::of(random_cost(seed + out.size()));
    out.push_back(std::move(candidate));
  };
  for (Index i = 0; i < graph.size(); ++i) {
    add({i});
    const std::size_t other = i + 1 + hash_combine(seed, i) % reach;
    if (other < graph.size()) add({i, static_cast<Index>(other)});
  }
  std::stable_sort(out.begin(), out.end());
  return out;
}

// Is each node in exactly one of the chosen candidates?
bool is_cover(const DataflowGraph& graph, std::span<const Candidate> candidates, const Plan& plan) {
  std::set<Index> covered;
  for (const std::size_t i : plan.chosen) {
    for (const Index index : candidates[i].sub_graph.inside()) {
      if (!covered.insert(index).second) return false;
    }
  }
  return covered.size() == graph.size();
}

TEST(BoundedSearch, FindsTheCheapestWhereNothingIsDropped) {
  const PlacementSpec spec{"cpu", 0, Target("cpu"), {}};
  const Module module = parallel(3, 3, 2);
  const DataflowGraph graph(module.functions.at("main"), module.constants);
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const auto candidates = candidates_of(graph, spec, seed, 6);
    const auto exact = search(graph, candidates);
    const auto bounded = bounded_search(graph, candidates, 100000);
    ASSERT_TRUE(exact && bounded);
    EXPECT_EQ(bounded->dropped, 0u);
    EXPECT_NEAR(bounded->cost.seconds(), exact->cost.seconds(), 1e-9) << seed;
    EXPECT_TRUE(is_cover(graph, candidates, *bounded));
  }
}

TEST(BoundedSearch, SaysWhatItDropsAndStillCoversAll) {
  const PlacementSpec spec{"cpu", 0, Target("cpu"), {}};
  const Module module = parallel(4, 4, 4);
  const DataflowGraph graph(module.functions.at("main"), module.constants);
  double sum_of_best = 0, sum = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto candidates = candidates_of(graph, spec, seed, 12);
    const auto best = bounded_search(graph, candidates, 100000);
    const auto narrow = bounded_search(graph, candidates, 4);
    ASSERT_TRUE(best && narrow);
    EXPECT_GT(narrow->dropped, 0u);
    EXPECT_TRUE(is_cover(graph, candidates, *narrow));
    EXPECT_GE(narrow->cost.seconds(), best->cost.seconds() - 1e-9);
    sum += narrow->cost.seconds();
    sum_of_best += best->cost.seconds();
  }
  EXPECT_LT(sum, 1.05 * sum_of_best) << "what is promising is kept";
}

TEST(BoundedSearch, NamesTheNodeThatNobodyCovers) {
  const PlacementSpec spec{"cpu", 0, Target("cpu"), {}};
  const Module module = parallel(1, 2, 2);
  const DataflowGraph graph(module.functions.at("main"), module.constants);
  auto candidates = candidates_of(graph, spec, 1, 1);
  std::erase_if(candidates, [](const Candidate& c) { return c.sub_graph.inside().contains(3); });
  const auto plan = bounded_search(graph, candidates, 100);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().list.front().message.find("at index 3"), std::string::npos)
      << plan.error().list.front().message;
}

#ifndef TESSERA_SANITIZED
// Wide everywhere, where the exact search takes time and memory without end.
TEST(BoundedSearch, TwelveThousandNodesInParallelBranchesInTwoSeconds) {
  const PlacementSpec spec{"cpu", 0, Target("cpu"), {}};
  const Module module = parallel(600, 5, 4);
  const DataflowGraph graph(module.functions.at("main"), module.constants);
  ASSERT_GT(graph.size(), 12000u);
  const auto candidates = candidates_of(graph, spec, 1, 20);
  const std::clock_t begin = std::clock();  // of this process alone: others may be busy
  const auto plan = bounded_search(graph, candidates, 100);
  const double taken = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  ASSERT_TRUE(plan);
  EXPECT_TRUE(is_cover(graph, candidates, *plan));
  EXPECT_LT(taken, 2) << "seconds";
}
#endif

}  // namespace
}  // namespace tessera::collage
