// SPDX-License-Identifier: Apache-2.0
// merge-composite takes near-linear time: graphs of 90,000 operators take seconds with the largest
// table, unoptimised builds and busy machines included; quadratic work would take minutes.
#include <chrono>

#include <gtest/gtest.h>

#include "backends/pattern_tables.h"
#include "byoc/passes.h"
#include "ops/records/table.h"
#include "passes/manager.h"
#include "support/testing/near_linear.h"

namespace tessera::backends {
namespace {

using relay::FunctionBuilder;
using relay::NodeId;

constexpr int kNodes = tessera::testing::kLargeGraphNodes;
constexpr double kSeconds = tessera::testing::kLargeGraphSeconds;

std::map<std::string, int> composites_of(relay::Function f, std::string_view passes) {
  Module module;
  module.functions["main"] = std::move(f);
  const auto calls = passes::parse_pipeline(passes, byoc::all_passes()).value();
  const auto tables = pattern_tables();
  passes::ManagerOptions options;
  options.pattern_tables = tables;
  const auto begin = std::chrono::steady_clock::now();
  const auto outcome = run_passes(std::move(module), calls, ops::operators(), options);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
            kSeconds);
  EXPECT_TRUE(outcome);
  std::map<std::string, int> count;
  const relay::Function& main = outcome->module.functions.at("main");
  for (std::size_t i = 0; i < main.num_nodes(); ++i) {
    const auto* literal = main.as<relay::Literal>(NodeId(i));
    if (literal != nullptr) ++count[literal->attrs.string_or_empty("Composite")];
  }
  return count;
}

const Type kMatrix = tensor_type({8, 8}, kFloat32);

TEST(LargeGraphs, ManyProducts) {
  FunctionBuilder b;
  const NodeId x = b.param("x", kMatrix), bias = b.param("bias", tensor_type({8}, kFloat32));
  NodeId at = x;
  for (int i = 0; i < kNodes / 4; ++i) {
    at = b.call(ops::op("nn.dense"), {at, x}, {{"units", 8}});
    at = b.call(ops::op("add"), {at, bias});
    at = b.call(ops::op("nn.relu"), {at});
    at = b.call(ops::op("exp"), {at});
  }
  EXPECT_EQ(composites_of(b.finish(at), "merge-composite{table=cutlass}"),
            (std::map<std::string, int>{{"cutlass.dense_bias_relu", kNodes / 4}}));
}

// Every value is used at once and again at the very end: post-dominators lie far away.
TEST(LargeGraphs, FarUses) {
  FunctionBuilder b;
  NodeId at = b.param("x", kMatrix);
  std::vector<NodeId> all;
  for (int i = 0; i < kNodes / 3; ++i) all.push_back(at = b.call(ops::op("nn.relu"), {at}));
  for (const NodeId early : all) at = b.call(ops::op("add"), {at, early});
  const auto count = composites_of(b.finish(at), "merge-composite{table=example_target_hook}");
  EXPECT_EQ(count, (std::map<std::string, int>{{"relu", kNodes / 3}, {"add", kNodes / 3}}));
}

}  // namespace
}  // namespace tessera::backends
