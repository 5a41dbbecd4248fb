// SPDX-License-Identifier: Apache-2.0
// What holds for every placement that collage finds (relay-spec 9.13), over random graphs and
// tables of patterns.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "byoc/outline.h"
#include "collage/extract.h"
#include "collage/mock_estimator.h"
#include "collage/partition.h"
#include "module/text.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "passes/manager.h"
#include "tests/fuzz/random.h"
#include "tests/fuzz/random_graph.h"

namespace tessera::fuzz {
namespace {

using collage::Candidate;
using collage::IndexSet;
using relay::PatternTable;

bool percent(Random& random, int n) { return random.below(100) < n; }

// Two back ends: one runs some operators and pairs of them, the other every operator, so that there
// is a placement.
std::vector<PatternTable> random_tables(Random& random) {
  PatternTable some{"example_target_hook", {}}, all{"ccompiler", {}};
  all.combining = percent(random, 50) ? relay::Combining::kNone : relay::Combining::kByKind;
  for (const relay::Operator* op : ops::operators().all()) {
    const std::string name(op->name);
    all.composites.push_back({"any." + name, relay::is_op_any_args(name), {}});
    if (!percent(random, 40)) continue;
    if (percent(random, 20)) {
      const relay::Pattern inner = relay::is_op_any_args(name);
      some.composites.push_back({"relu_after." + name, relay::is_op("nn.relu", {inner}), {}});
    }
    some.composites.push_back({"some." + name, relay::is_op_any_args(name), {}});
  }
  return {some, all};
}

struct Placed {
  Module module;
  double plan_cost = 0, sum = 0;
};

class CollageOfRandomGraphs : public ::testing::TestWithParam<int> {};

void check_cover(const collage::DataflowGraph& graph, const collage::Placement& placement) {
  IndexSet covered(graph.size());
  for (const Candidate& c : placement.chosen) {
    EXPECT_TRUE(c.sub_graph.inside().is_disjoint_from(covered));
    EXPECT_TRUE(c.sub_graph.is_valid(graph, {1, false, 0}) || c.spec->name == "host");
    covered = covered | c.sub_graph.inside();
  }
  EXPECT_EQ(covered.count(), graph.size());
}

Placed place(const Graph& g, std::uint64_t seed) {
  Random random(seed);
  const std::vector<PatternTable> tables = random_tables(random);
  const std::vector<Target> targets = {Target("cpu"), Target("example_target_hook"),
                                       Target("ccompiler")};
  const std::vector<std::string> costs = {"cpu:2", "example_target_hook:1.9", "ccompiler:3"};
  auto estimator = collage::MockEstimator::make(costs, targets, 0).value();
  Module module = module_of(g);
  module = ops::infer_types(std::move(module)).value();
  collage::CandidateCosts names(module, estimator);
  const auto specs = collage::make_specs(targets, tables, module.constants, {3, 2}).value();
  relay::Function& f = module.functions.at("main");
  const collage::DataflowGraph graph(f, module.constants);
  const auto placement = collage::place(graph, specs, names);
  if (!placement) {
    ADD_FAILURE() << render(placement.error());
    return {std::move(module)};
  }
  check_cover(graph, *placement);
  Placed out;
  out.plan_cost = placement->cost.seconds();
  for (const Candidate& c : placement->chosen) out.sum += c.cost.seconds();
  relay::Function placed = collage::partition(graph, *placement);
  f = std::move(placed);
  out.module = byoc::outline_functions(std::move(module), names, "").value();
  return out;
}

void check_functions(const Module& module) {
  std::set<std::string> symbols;
  for (const auto& [name, f] : module.functions) {
    if (name == "main") continue;
    EXPECT_EQ(f.attrs.int_or_zero("Primitive"), 1) << name;
    EXPECT_EQ(f.attrs.string_or_empty("global_symbol"), name);
    EXPECT_FALSE(f.attrs.string_or_empty("Compiler").empty()) << name;
    EXPECT_TRUE(symbols.insert(f.attrs.string_or_empty("global_symbol")).second);
  }
}

TEST_P(CollageOfRandomGraphs, HoldsWhatEveryPlacementHolds) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::uint64_t number = static_cast<std::uint64_t>(GetParam()) * 1000 + seed;
    SCOPED_TRACE(number);
    const Graph graph = random_graph(number);
    const Placed placed = place(graph, number);
    EXPECT_NEAR(placed.plan_cost, placed.sum, 1e-9 * placed.sum);
    const auto typed = ops::infer_types(placed.module);
    ASSERT_TRUE(typed.has_value()) << render(typed.error());
    const relay::Function& f = typed->functions.at("main");
    EXPECT_EQ(to_string(f.type(f.result())),
              to_string(graph.function.type(graph.function.result())));
    check_functions(*typed);
    EXPECT_EQ(print(placed.module), print(place(graph, number).module));
    const auto wanted = reference(graph, graph.runs[0]);
    const auto found = ops::evaluate(*typed, f, graph.runs[0].inputs);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_LE(ops::relative_difference(found[i], wanted[i]), 1e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CollageOfRandomGraphs, ::testing::Range(0, 4));

}  // namespace
}  // namespace tessera::fuzz
