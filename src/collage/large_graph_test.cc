// SPDX-License-Identifier: Apache-2.0
// Graphs of 12,000 operators, or as many as $TESSERA_TEST_OPERATORS says: the search takes less
// than two seconds with known costs (20 for 90,000), and all that comes before and after it stays
// near-linear. So do the plans of whole models, with their candidates and all that is told of them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

#include <gtest/gtest.h>

#include "byoc/outline.h"
#include "collage/mock_estimator.h"
#include "collage/model_plan.h"
#include "collage/partition.h"
#include "collage/prune.h"
#include "collage/search.h"
#include "collage/testing/stated_costs.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "support/testing/near_linear.h"

namespace tessera::collage {
namespace {

using relay::FunctionBuilder;
using relay::is_op;
using relay::NodeId;
using relay::wildcard;

#ifdef TESSERA_SANITIZED
constexpr int kUsualOperators = 1200;  // time is not the question
#else
constexpr int kUsualOperators = 12000;
#endif
const char* const kGivenOperators = std::getenv("TESSERA_TEST_OPERATORS");
const int kOperators = kGivenOperators == nullptr ? kUsualOperators : std::atoi(kGivenOperators);
const Type kMatrix = tensor_type({8, 8}, kFloat32);

const double kSearchSeconds = kOperators > kUsualOperators ? 20 : 2;

// Of this process alone: others may be busy.
double seconds_since(std::clock_t begin) {
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

NodeId call(FunctionBuilder& b, const char* op, std::initializer_list<NodeId> args) {
  const bool is_product = std::string_view(op) == "nn.dense";
  return b.call(ops::op(op), args, is_product ? relay::Attrs{{"units", 8}} : relay::Attrs{});
}

relay::PatternTable table() {
  return {"example_target_hook",
          {{"dense_relu", is_op("nn.relu", {is_op("nn.dense", {wildcard(), wildcard()})}), {}},
           {"dense", is_op("nn.dense", {wildcard(), wildcard()}), {}},
           {"relu", is_op("nn.relu", {wildcard()}), {}},
           {"add", is_op("add", {wildcard(), wildcard()}), {}},
           {"concatenate", is_op("concatenate", {wildcard()}), {}}}};
}

// How many functions the back end gets.
std::size_t functions_of(relay::Function f) {
  Module module;
  module.functions["main"] = std::move(f);
  module = ops::infer_types(std::move(module)).value();
  const std::vector<Target> targets = {Target("cpu"), Target("example_target_hook")};
  const std::vector<std::string> costs = {"cpu:1", "example_target_hook:0.6"};
  auto estimator = MockEstimator::make(costs, targets, 0).value();
  CandidateCosts known(module, estimator);
  const std::vector<relay::PatternTable> tables = {table()};
  const Specs specs = make_specs(targets, tables, module.constants, {8, 4}).value();
  const auto begin = std::clock();
  const DataflowGraph graph(module.functions.at("main"), module.constants);
  auto candidates = candidates_of(graph, specs).value();
  candidates = prune(graph, std::move(candidates));
  known.estimate_all(graph, candidates).value();
  const auto search_begin = std::clock();
  const Plan plan = search(graph, candidates).value();
  EXPECT_LT(seconds_since(search_begin), kSearchSeconds);
  Placement placement{{}, plan.cost};
  for (const std::size_t i : plan.chosen) placement.chosen.push_back(candidates[i]);
  relay::Function placed = partition(graph, placement);
  module.functions.at("main") = std::move(placed);
  module = byoc::outline_functions(std::move(module), known, "").value();
  EXPECT_LT(seconds_since(begin), tessera::testing::kLargeGraphSeconds);
  return module.functions.size() - 1;
}

TEST(LargeGraphs, ALongChain) {
  FunctionBuilder b;
  const NodeId w = b.param("w", kMatrix);
  NodeId at = b.param("x", kMatrix);
  for (int i = 0; i < kOperators / 4; ++i) {
    at = call(b, "nn.dense", {at, w});
    at = call(b, "add", {at, w});
    at = call(b, "nn.relu", {at});
    at = call(b, "exp", {at});
  }
  EXPECT_GT(functions_of(b.finish(at)), 0u);
}

TEST(LargeGraphs, OneKind) {
  FunctionBuilder b;
  NodeId at = b.param("x", kMatrix);
  for (int i = 0; i < kOperators / 4; ++i) at = call(b, "nn.relu", {at});
  EXPECT_GT(functions_of(b.finish(at)), 0u);
}

TEST(LargeGraphs, Residuals) {
  FunctionBuilder b;
  const NodeId w = b.param("w", kMatrix);
  NodeId at = b.param("x", kMatrix);
  for (int i = 0; i < kOperators / 6; ++i) {
    NodeId inner = call(b, "nn.relu", {call(b, "nn.dense", {at, w})});
    inner = call(b, "add", {call(b, "nn.dense", {inner, w}), w});
    at = call(b, "nn.relu", {call(b, "add", {at, inner})});
  }
  EXPECT_GT(functions_of(b.finish(at)), 0u);
}

TEST(LargeGraphs, Branches) {
  FunctionBuilder b;
  NodeId at = b.param("x", kMatrix);
  for (int i = 0; i < kOperators / 20; ++i) {
    const NodeId left = call(b, "nn.relu", {call(b, "exp", {at})});
    const NodeId right = call(b, "nn.relu", {call(b, "abs", {at})});
    at = call(b, "add", {left, right});
  }
  EXPECT_GT(functions_of(b.finish(at)), 0u);
}

TEST(LargeGraphs, FarUses) {
  FunctionBuilder b;
  NodeId at = b.param("x", kMatrix);
  std::vector<NodeId> all;
  for (int i = 0; i < kOperators / 8; ++i) all.push_back(at = call(b, "nn.relu", {at}));
  for (const NodeId early : all) at = call(b, "add", {at, early});
  EXPECT_GT(functions_of(b.finish(at)), 0u);
}

// A model in the making: its weights are constants of the pool, each another one, as a model's are.
class ModelBuilder {
 public:
  NodeId input() { return b_.param("x", kMatrix); }
  NodeId call(const char* op, NodeId x) { return collage::call(b_, op, {x}); }
  NodeId add(NodeId x, NodeId y) { return collage::call(b_, "add", {x, y}); }
  NodeId add_weight(NodeId x) { return add(x, weight()); }
  NodeId dense(NodeId x) { return collage::call(b_, "nn.dense", {x, weight()}); }
  NodeId dense_relu(NodeId x) { return call("nn.relu", dense(x)); }
  // Of all of them, as the result.
  Module finish(std::span<const NodeId> values) {
    const NodeId all = b_.call(ops::op("concatenate"), {b_.tuple(values)}, {});
    return finish(all);
  }
  Module finish(NodeId result) {
    module_.functions["main"] = b_.finish(result);
    return ops::infer_types(std::move(module_)).value();
  }

 private:
  NodeId weight() {
    std::vector<float> numbers(64, 0.5F);
    numbers[0] = static_cast<float>(module_.constants.size());
    return b_.constant(module_.constants.add(Tensor::of({8, 8}, kFloat32, numbers)));
  }
  FunctionBuilder b_;
  Module module_;
};

// What the compile option asks of the planner. Costs are such that the largest region of the
// cheapest back end is taken; how many regions of back ends there are in the end.
std::size_t regions_of_plan(const Module& module) {
  using testing::PatternsOnly;
  const auto dense = is_op("nn.dense", {wildcard(), wildcard()});
  const PatternsOnly onednn("onednn", {{"onednn.dense_relu", is_op("nn.relu", {dense}), {}},
                                       {"onednn.dense", dense, {}},
                                       {"onednn.add", is_op("add", {wildcard(), wildcard()}), {}}});
  const PatternsOnly blas("blas", {{"blas.dense", dense, {}}}, byoc::FusionStyle::kOneComposite);
  const std::vector<Target> targets = {Target("cpu"), Target("onednn"), Target("blas")};
  const std::vector<std::string> costs = {"cpu:1", "onednn:0.6", "blas:0.8"};
  auto estimator = MockEstimator::make(costs, targets, 0).value();
  const auto begin = std::clock();
  auto planner = ModelPlanner::make(module, "main", {{&onednn, targets[1]}, {&blas, targets[2]}},
                                    targets[0], false);
  if (!planner) throw std::runtime_error(render(planner.error()));
  const double made = seconds_since(begin);
  EXPECT_TRUE(planner->estimate(estimator));
  const double estimated = seconds_since(begin);
  const ModelPlan plan = planner->plan().value();
  EXPECT_EQ(plan.dropped, 0u);
  const double planned = seconds_since(begin);
  EXPECT_TRUE(planner->plan(true));
  EXPECT_EQ(planner->greedy_costs().size(), 4u);
  EXPECT_EQ(planner->second_level().greedy.size(), 4u);
  const double told = seconds_since(begin);
  EXPECT_LT(told, kSearchSeconds);
  std::printf("%zu nodes, %zu candidates: made %.2f s, estimated %.2f, planned %.2f, told %.2f\n",
              module.functions.at("main").num_nodes(), planner->num_candidates(), made, estimated,
              planned, told);
  return static_cast<std::size_t>(
      std::count_if(plan.regions.begin(), plan.regions.end(),
                    [](const PlannedRegion& region) { return region.chosen.who != kNative; }));
}

TEST(LargeModels, OneRegion) {
  ModelBuilder m;
  NodeId at = m.input();
  for (int i = 0; i < kOperators / 3; ++i) at = m.add_weight(m.dense_relu(at));
  EXPECT_EQ(regions_of_plan(m.finish(at)), 1u);
}

TEST(LargeModels, RegionsBetweenOtherOperators) {
  ModelBuilder m;
  NodeId at = m.input();
  for (int i = 0; i < kOperators / 4; ++i) {
    at = m.call("exp", m.add_weight(m.dense_relu(at)));
  }
  EXPECT_EQ(regions_of_plan(m.finish(at)), static_cast<std::size_t>(kOperators / 4));
}

// Each layer's value leaves it: what others compute of it lies between its nodes.
TEST(LargeModels, ARegionWithHoles) {
  ModelBuilder m;
  NodeId at = m.input();
  std::vector<NodeId> values;
  for (int i = 0; i < kOperators / 3; ++i) {
    at = m.dense_relu(at);
    values.push_back(m.call("exp", at));
  }
  EXPECT_EQ(regions_of_plan(m.finish(values)), 1u);
}

TEST(LargeModels, Residuals) {
  ModelBuilder m;
  NodeId at = m.input();
  for (int i = 0; i < kOperators / 7; ++i) {
    const NodeId inner = m.dense(m.call("exp", m.add_weight(m.dense_relu(at))));
    at = m.call("nn.relu", m.add(at, inner));
  }
  EXPECT_GT(regions_of_plan(m.finish(at)), 0u);
}

}  // namespace
}  // namespace tessera::collage
