// SPDX-License-Identifier: Apache-2.0
// The fuzzer itself: what it makes is repeatable and varied, and its reduction finds the culprit.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "byoc/annotations.h"
#include "module/text.h"
#include "ops/evaluate_function.h"
#include "ops/infer_types.h"
#include "ops/table.h"
#include "relay/operator.h"
#include "tests/fuzz/batch.h"
#include "tests/fuzz/device_kernels.h"
#include "tests/fuzz/illegal.h"
#include "tests/fuzz/reduce.h"
#include "tir/print.h"

namespace tessera::fuzz {
namespace {

using relay::NodeId;

std::string text_of(const Graph& graph) {
  Module module;
  module.functions.emplace("main", graph.function);
  return print(module);
}

bool calls(const relay::Function& f, std::string_view name) {
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    if (relay::is_call_of(f, NodeId(i), name)) return true;
  }
  return false;
}

TEST(RandomGraph, IsRepeatableAndHasValues) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph = random_graph(seed);
    EXPECT_EQ(text_of(graph), text_of(random_graph(seed)));
    EXPECT_FALSE(ops::evaluate(graph.function, {}, graph.inputs).empty());
  }
  EXPECT_NE(text_of(random_graph(1)), text_of(random_graph(2)));
}

TEST(RandomGraph, MeetsMostOperatorsAndTypes) {
  std::set<std::string_view> operators;
  std::set<std::string> dtypes;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const relay::Function f = random_graph(seed).function;
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      if (const relay::Operator* op = f.op(NodeId(i))) operators.insert(op->name);
      for (const Type& t : flatten(f.type(NodeId(i)).is_function() ? Type() : f.type(NodeId(i)))) {
        if (t) dtypes.insert(to_string(t.dtype()));
      }
    }
  }
  EXPECT_GT(operators.size(), 100u);
  EXPECT_GE(dtypes.size(), 8u);
}

// Verified on the way: what threads of a team share is ordered by barriers.
TEST(DeviceKernels, OfLargeGraphsMeetAllSchedules) {
  std::map<std::string, int> launches;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto module = device_kernels(large_graph(seed));
    ASSERT_TRUE(module) << seed << render(module.error());
    for (const auto& [symbol, kernel] : module->prim_funcs) {
      const std::string text = tir::print(kernel, symbol);
      for (const char* what : {"T.barrier", "T.warps", "T.blocks", "T.grid", "a_tile["}) {
        launches[what] += text.find(what) != text.npos ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(launches.size(), 5u);
  for (const auto& [what, number] : launches) EXPECT_GT(number, 9) << what;
}

// x -> relu -> tanh -> add(relu, tanh): relu and add cannot be one group without tanh.
TEST(Groups, ACycleHasNoOrder) {
  relay::FunctionBuilder b;
  const NodeId x = b.param("x", tensor_type({2}, kFloat32));
  const NodeId relu = b.call(ops::op("nn.relu"), {x});
  const NodeId tanh = b.call(ops::op("tanh"), {relu});
  const NodeId add = b.call(ops::op("add"), {relu, tanh});
  const relay::Function f = b.finish(add);
  EXPECT_TRUE(order_of_groups(f, {-1, 0, -1, 0}).empty());
  EXPECT_TRUE(order_of_groups(f, {-1, 0, 1, 0}).empty());
  EXPECT_EQ(order_of_groups(f, {-1, 0, 0, 0}).size(), 4u);
  EXPECT_EQ(order_of_groups(f, {-1, 0, 0, -1}).size(), 4u);
}

TEST(Illegal, EveryKindIsRefused) {
  std::set<std::string> kinds;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const IllegalOutcome outcome = try_illegal(random_graph(seed), seed);
    EXPECT_FALSE(outcome.problem) << *outcome.problem << "\n" << outcome.text;
    kinds.insert(outcome.kind);
  }
  kinds.erase("");
  EXPECT_EQ(kinds.size(), 11u);
}

// Whatever else the graph does, the operator remains, on the value that it had; beside it what a
// `let` makes of it, and tuples.
TEST(Reduction, FindsTheOperatorThatFails) {
  int reduced_graphs = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = random_graph(seed);
    if (!calls(graph.function, "nn.relu") || count_of_calls(graph.function) < 6) continue;
    const Graph small = reduced(
        graph, [](const Graph& g) { return calls(g.function, "nn.relu"); }, 200);
    EXPECT_TRUE(calls(small.function, "nn.relu"));
    EXPECT_LE(count_of_calls(small.function), 5) << text_of(graph) << text_of(small);
    EXPECT_FALSE(ops::evaluate(small.function, {}, small.inputs).empty());
    ++reduced_graphs;
  }
  EXPECT_GT(reduced_graphs, 3);
}

}  // namespace
}  // namespace tessera::fuzz
