// SPDX-License-Identifier: Apache-2.0
// The fuzzer itself: what it makes is repeatable and varied, and its reduction finds the culprit.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "byoc/annotations.h"
#include "module/text.h"
#include "ops/evaluation/evaluate_function.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "relay/operator.h"
#include "tests/fuzz/batch.h"
#include "tests/fuzz/device_kernels.h"
#include "tests/fuzz/illegal.h"
#include "tests/fuzz/reduce.h"
#include "tir/print.h"

namespace tessera::fuzz {
namespace {

using relay::NodeId;

std::string text_of(const Graph& graph) { return print(module_of(graph)); }

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
    EXPECT_FALSE(reference(graph, graph.runs[0]).empty());
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

TEST(OpenGraph, IsRepeatableAndRunsWithEachSetOfSizes) {
  std::set<std::string> symbols;
  int with_edge = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = random_graph(seed, Shapes::kOpen);
    EXPECT_EQ(text_of(graph), text_of(random_graph(seed, Shapes::kOpen)));
    EXPECT_TRUE(unreadable_symbols(graph.function).empty());
    ASSERT_EQ(graph.runs.size(), static_cast<std::size_t>(kSizeSets));
    for (const fuzz::Run& run : graph.runs) EXPECT_FALSE(reference(graph, run).empty());
    for (const auto& [name, size] : graph.runs.back().sizes) {
      with_edge += size < 2 ? 1 : 0;
      symbols.insert(name);
    }
  }
  EXPECT_GE(with_edge, 40);
  EXPECT_GT(symbols.size(), 60u);
}

TEST(OpenGraph, MeetsMostOperatorsAndKindsOfSizes) {
  std::set<std::string_view> operators;
  std::set<std::string> dtypes, layouts;
  int symbols = 0, sums_and_products = 0, of_data = 0, states = 0;
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    const relay::Function f = random_graph(seed, Shapes::kOpen).function;
    std::vector<Type> of_inputs;
    for (const NodeId param : f.params()) of_inputs.push_back(f.type(param));
    for (const Type& t : flatten(f.type(f.result()))) {
      states += std::count(of_inputs.begin(), of_inputs.end(), t) != 0 ? 1 : 0;
    }
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      if (const auto* call = f.as<relay::OpCall>(NodeId(i))) {
        operators.insert(call->op->name);
        for (const char* name : {"data_layout", "layout", "kernel_layout"}) {
          layouts.insert(call->attrs.string_or_empty(name));
        }
      }
      if (f.type(NodeId(i)).is_function()) continue;
      for (const Type& t : flatten(f.type(NodeId(i)))) {
        dtypes.insert(to_string(t.dtype()));
        for (const Dim& dim : t.shape()) {
          of_data += dim.is_unknown() ? 1 : 0;
          symbols += dim.is_symbolic() ? 1 : 0;
          sums_and_products += dim.is_symbolic() && !is_symbol_name(dim.expression_text()) ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(operators.size(), 125u);
  for (const char* dtype : {"float16", "bfloat16", "int8", "uint8"}) {
    EXPECT_TRUE(dtypes.contains(dtype)) << dtype;
  }
  EXPECT_GT(layouts.size(), 20u);
  EXPECT_GT(symbols, 2000);
  EXPECT_GT(sums_and_products, 500);
  EXPECT_GT(of_data, 20);
  EXPECT_GT(states, 200);
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
    EXPECT_FALSE(reference(small, small.runs[0]).empty());
    ++reduced_graphs;
  }
  EXPECT_GT(reduced_graphs, 3);
}

// What is wrong with one set of sizes is reduced to that, and symbols that do not matter to
// numbers.
TEST(Reduction, KeepsTheSizesThatFail) {
  int reduced_graphs = 0;
  for (std::uint64_t seed = 0; seed < 200 && reduced_graphs < 10; ++seed) {
    const Graph graph = random_graph(seed, Shapes::kOpen);
    const auto fails = [](const Graph& g) {
      return calls(g.function, "tanh") &&
             std::any_of(g.runs.begin(), g.runs.end(), [](const fuzz::Run& r) {
               return std::any_of(r.sizes.begin(), r.sizes.end(),
                                  [](const auto& size) { return size.second == 0; });
             });
    };
    if (!fails(graph) || count_of_calls(graph.function) < 5) continue;
    const Graph small = reduced(graph, fails, 200);
    EXPECT_LE(count_of_calls(small.function), 5) << text_of(graph) << text_of(small);
    ASSERT_EQ(small.runs.size(), 1u);
    EXPECT_EQ(small.runs[0].sizes.size(), 1u) << text_of(small);
    EXPECT_FALSE(reference(small, small.runs[0]).empty());
    ++reduced_graphs;
  }
  EXPECT_GT(reduced_graphs, 3);
}

}  // namespace
}  // namespace tessera::fuzz
