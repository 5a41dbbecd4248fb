// SPDX-License-Identifier: Apache-2.0
// Graphs of 12,000 operators, or as many as $TESSERA_TEST_OPERATORS says: the search takes less
// than two seconds with known costs (20 for 90,000), and all that comes before and after it stays
// near-linear.
#include <cstdlib>
#include <ctime>

#include <gtest/gtest.h>

#include "byoc/outline.h"
#include "collage/mock_estimator.h"
#include "collage/partition.h"
#include "collage/prune.h"
#include "collage/search.h"
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
  EXPECT_LT(seconds_since(search_begin), kOperators > kUsualOperators ? 20 : 2);
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

}  // namespace
}  // namespace tessera::collage
