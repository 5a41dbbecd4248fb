// SPDX-License-Identifier: Apache-2.0
#include "collage/candidate_costs.h"

#include <gtest/gtest.h>

#include "collage/mock_estimator.h"
#include "collage/partition.h"
#include "collage/prune.h"
#include "collage/rules.h"
#include "collage/search.h"
#include "collage/testing/graphs.h"
#include "collage/testing/texts.h"

namespace tessera::collage {
namespace {

using relay::is_op;
using relay::wildcard;
using testing::NamedGraph;
using testing::spec_of;
using testing::texts_of;

const std::vector<std::string> kCosts = {"llvm:2", "example_target_hook:10"};

Result<MockEstimator> mock(std::span<const Target> targets, std::int64_t most = 0) {
  return MockEstimator::make(kCosts, targets, most);
}

TEST(MockCosts, EachFurtherOperatorOfAFunctionCostsLess) {
  const Module module = passes::testing::module_of(R"(
def @f(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  %0 = fn (%y: Tensor[(2), float32], Composite="c") { nn.relu(%y) };
  %1 = abs(%x);
  %0(%1)
}
def @main(%x: Tensor[(2), float32]) {
  %10 = abs(%x);
  %11 = @f(%10);
  abs(abs(%11))
})");
  auto estimator = mock({}).value();
  const Cost cost = estimator.estimate({module, Target("cpu")}).value();
  EXPECT_DOUBLE_EQ(cost.seconds(), 2 * (1 + 0.9) + 2 * (1 + 0.9 + 0.81));
  EXPECT_EQ(to_string(cost), "9220000.000000us");
  EXPECT_DOUBLE_EQ(estimator.estimate({module, Target("example_target_hook")}).value().seconds(),
                   46.1);
  EXPECT_EQ(estimator.num_estimates(), 2);
}

TEST(MockCosts, EveryTargetNeedsOne) {
  const std::vector<Target> targets = {Target("cpu"), Target("blas"), Target("onednn")};
  const auto refused = mock(targets);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().list[0].message.find("`blas`, `onednn`"), std::string::npos);
}

// What is estimated takes tensors, and calls compiler functions of the module.
class Watching final : public CostEstimator {
 public:
  Result<Cost> estimate(const CandidateProgram& program) override {
    const relay::Function& main = program.module.functions.at("main");
    for (const relay::NodeId id : main.params()) {
      EXPECT_TRUE(main.type(id).is_tensor());
      names.push_back(main.as<relay::Param>(id)->name);
    }
    for (std::size_t i = 0; i < main.num_nodes(); ++i) {
      const auto* literal = main.as<relay::Literal>(relay::NodeId(i));
      EXPECT_TRUE(literal == nullptr || literal->attrs.find("Compiler") == nullptr);
    }
    for (const auto& [name, f] : program.module.functions) functions.push_back(name);
    return Cost::of(1);
  }
  std::vector<std::string> names, functions;
};

TEST(CandidateCosts, TuplesAreHandedInAsTensors) {
  const NamedGraph g(R"(
def @main(%x: (Tensor[(2, 2), float32], (Tensor[(2, 2), float32], Tensor[(2, 2), float32]))) {
  %0 = %x.1;
  concatenate(%0)
})");
  const relay::CompositePattern pattern{
      "c", is_op("concatenate", {relay::is_project(wildcard(), 1)}), {}};
  const PlacementSpec spec = spec_of("blas");
  auto candidates =
      as_primitive(as_composite("c", match_pattern(pattern, nullptr)))(g.graph, spec).value();
  Watching estimator;
  CandidateCosts costs(g.module, estimator);
  ASSERT_TRUE(costs.estimate_all(g.graph, candidates).has_value());
  EXPECT_EQ(estimator.names,
            (std::vector<std::string>{"FunctionVar_0_0", "FunctionVar_0_1", "FunctionVar_0_2"}));
  EXPECT_EQ(estimator.functions,
            (std::vector<std::string>{"collage_blas_proj_concatenate", "main"}));
}

TEST(CandidateCosts, EqualFunctionsAreEstimatedOnce) {
  const NamedGraph g(testing::kChain);
  const PlacementSpec spec = spec_of("cpu");
  auto candidates = fusible_calls()(g.graph, spec).value();
  ASSERT_EQ(candidates.size(), 3u);
  auto estimator = mock({}, 2).value();
  CandidateCosts costs(g.module, estimator);
  EXPECT_TRUE(costs.estimate_all(g.graph, candidates).has_value()) << "abs and nn.relu";
  EXPECT_EQ(estimator.num_estimates(), 2);
  EXPECT_EQ(candidates[1].cost.seconds(), candidates[2].cost.seconds());
}

TEST(CandidateCosts, WhatCannotRunIsInvalidAndAvoided) {
  const NamedGraph g(testing::kChain);
  std::vector<Target> targets = {Target("cpu"), Target("blas")};
  const std::vector<relay::PatternTable> tables = {
      {"blas", {{"relu", is_op("nn.relu", {wildcard()}), {}}}}};
  const Specs made = make_specs(targets, tables, g.module.constants, {1, 1}).value();
  Specs specs;
  for (const auto& spec : made) {
    PlacementSpec copy = *spec;
    if (copy.name == "blas") {
      copy.validate = [](const relay::Function&) {
        return std::optional<relay::Refusal>{{"its library is not there"}};
      };
    }
    specs.push_back(std::make_unique<const PlacementSpec>(std::move(copy)));
  }
  const std::vector<std::string> stated = {"cpu:2", "blas:1"};
  auto estimator = MockEstimator::make(stated, targets, 0).value();
  CandidateCosts costs(g.module, estimator);
  const Placement placement = place(g.graph, specs, costs).value();
  EXPECT_EQ(placement.cost.seconds(), 6);
  for (const Candidate& c : placement.chosen) EXPECT_NE(c.spec->name, "blas");
}

// The earlier of two patterns with the same nodes stays; equal nodes of two targets both do.
TEST(Pruning, KeepsTheEarlierPatternAndBothTargets) {
  const NamedGraph g(testing::kChain);
  const relay::CompositePattern relu{"relu", is_op("nn.relu", {wildcard()}), {}};
  const PlacementSpec blas = spec_of("blas"), cpu = spec_of("cpu");
  const Rule both = united({as_composite("first", match_pattern(relu, nullptr)),
                            as_composite("second", match_pattern(relu, nullptr))});
  std::vector<Candidate> candidates = both(g.graph, blas).value();
  ASSERT_EQ(candidates.size(), 4u);
  const auto native = fusible_calls()(g.graph, cpu).value();
  candidates.insert(candidates.end(), native.begin(), native.end());
  const auto pruned = prune(g.graph, candidates);
  std::vector<std::string> found;
  for (const Candidate& c : pruned) {
    found.push_back(to_string(c.sub_graph.inside()) + c.spec->name + c.rule);
  }
  EXPECT_EQ(found, (std::vector<std::string>{"{3}cpu", "{4}cpu", "{4}blasfirst", "{5}cpu",
                                             "{5}blasfirst"}));
}

}  // namespace
}  // namespace tessera::collage
