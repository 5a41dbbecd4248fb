// SPDX-License-Identifier: Apache-2.0
// Passes take near-linear time: on graphs of 90,000 operators, unoptimised builds and busy machines
// included, each of these takes about a second; quadratic ones would take minutes.
#include <chrono>

#include <gtest/gtest.h>

#include "ops/records/table.h"
#include "passes/manager.h"
#include "support/testing/near_linear.h"

namespace tessera::passes {
namespace {

using relay::FunctionBuilder;
using relay::NodeId;

constexpr int kNodes = tessera::testing::kLargeGraphNodes;
constexpr double kSeconds = tessera::testing::kLargeGraphSeconds;

const Type kType = tensor_type({Dim(4)}, kFloat32);

struct Timed {
  Module module;
  double seconds = 0;
};

Timed run(const relay::Function& f, std::string_view passes) {
  Module module;
  module.functions["main"] = f;
  const auto calls = parse_pipeline(passes, all_passes()).value();
  const auto begin = std::chrono::steady_clock::now();
  auto outcome = run_passes(std::move(module), calls, ops::operators());
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_TRUE(outcome) << passes;
  if (!outcome) return {};
  EXPECT_LT(seconds, kSeconds) << passes;
  return {std::move(outcome->module), seconds};
}

std::size_t count(const Module& module, relay::NodeKind kind) {
  const relay::Function& f = module.functions.at("main");
  std::size_t n = 0;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) n += f[NodeId(i)].kind() == kind ? 1 : 0;
  return n;
}

relay::Function chain(int length) {
  FunctionBuilder b;
  NodeId at = b.param("x", kType);
  for (int i = 0; i < length; ++i) at = b.call(ops::op("tanh"), {at});
  return b.finish(at);
}

// Half of it changes between the types, half follows in float32.
TEST(LargeGraphs, MixedPrecision) {
  FunctionBuilder b;
  const Type matrix = tensor_type({Dim(2), Dim(2)}, kFloat32);
  const NodeId w = b.param("w", matrix);
  NodeId at = b.param("x", matrix);
  for (int i = 0; i < kNodes / 3; ++i) {
    at = b.call(ops::op("nn.dense"), {at, w}, {{"units", 2}});
    at = b.call(ops::op("exp"), {at});
  }
  for (int i = 0; i < kNodes / 3; ++i) at = b.call(ops::op("tanh"), {at});
  const Timed t = run(b.finish(at), "to-mixed-precision");
  EXPECT_EQ(count(t.module, relay::NodeKind::kOpCall), kNodes + 2u * (kNodes / 3) + 1);
}

TEST(LargeGraphs, FusionOfAChain) {
  const Timed t = run(chain(kNodes), "fuse-ops");
  EXPECT_EQ(count(t.module, relay::NodeKind::kLiteral), (kNodes + 255) / 256u);
  EXPECT_EQ(count(run(chain(12000), "fuse-ops{max_depth=12000}").module, relay::NodeKind::kLiteral),
            1u);
}

// Every value is used at once and again at the very end, where the common post-dominators lie far
// away.
TEST(LargeGraphs, FusionWithFarUses) {
  FunctionBuilder b;
  NodeId at = b.param("x", kType);
  std::vector<NodeId> all;
  for (int i = 0; i < kNodes / 3; ++i) all.push_back(at = b.call(ops::op("tanh"), {at}));
  for (const NodeId early : all) at = b.call(ops::op("add"), {at, early});
  run(b.finish(at), "fuse-ops");
}

// Skip connections of all lengths, as in dense networks.
TEST(LargeGraphs, FusionOfNestedSkips) {
  FunctionBuilder b;
  std::vector<NodeId> all = {b.param("x", kType)};
  for (int i = 1; i < kNodes / 2; ++i) {
    const NodeId next = b.call(ops::op("tanh"), {all.back()});
    all.push_back(b.call(ops::op("add"), {next, all[all.size() / 2]}));
  }
  run(b.finish(all.back()), "fuse-ops");
}

TEST(LargeGraphs, FoldingOfAChain) {
  FunctionBuilder b;
  NodeId at = b.constant(tensor_from_doubles({4}, kFloat32, std::vector<double>{1, 2, 3, 4}));
  for (int i = 0; i < kNodes; ++i) at = b.call(ops::op("tanh"), {at});
  const Timed t = run(b.finish(at), "fold-constant");
  EXPECT_EQ(t.module.functions.at("main").num_nodes(), 1u);
}

TEST(LargeGraphs, CommonNodesOfEqualChains) {
  FunctionBuilder b;
  const NodeId x = b.param("x", kType);
  NodeId left = x, right = x;
  for (int i = 0; i < kNodes / 2; ++i) left = b.call(ops::op("tanh"), {left});
  for (int i = 0; i < kNodes / 2; ++i) right = b.call(ops::op("tanh"), {right});
  const Timed t = run(b.finish(b.call(ops::op("add"), {left, right})), "eliminate-common-subexpr");
  EXPECT_EQ(count(t.module, relay::NodeKind::kOpCall), kNodes / 2 + 1u);
}

TEST(LargeGraphs, DeadLets) {
  FunctionBuilder b;
  const NodeId x = b.param("x", kType);
  NodeId at = x;
  for (int i = 0; i < kNodes / 2; ++i) at = b.let("y", b.call(ops::op("tanh"), {at}));
  const Timed t = run(b.finish(x), "eliminate-dead-code");
  EXPECT_EQ(t.module.functions.at("main").num_nodes(), 1u);
}

// Each transpose moves after the product, where the next one undoes it.
TEST(LargeGraphs, ViewsBetweenProducts) {
  FunctionBuilder b;
  const NodeId w = b.param("w", tensor_type({Dim(4), Dim(4)}, kFloat32));
  NodeId at = b.param("x", tensor_type({Dim(2), Dim(3), Dim(4)}, kFloat32));
  constexpr int kPairs = kNodes / 4;
  for (int i = 0; i < 2 * kPairs; ++i) {
    at = b.call(ops::op("transpose"), {at}, {{"axes", relay::AttrArray{1, 0, 2}}});
    at = b.call(ops::op("nn.dense"), {at, w}, {{"units", 4}});
  }
  const Timed t = run(b.finish(at), "canonicalize-views");
  EXPECT_EQ(count(t.module, relay::NodeKind::kOpCall), static_cast<std::size_t>(2 * kPairs));
}

TEST(LargeGraphs, TheOtherPasses) {
  const Timed t = run(chain(kNodes),
                      "simplify-expr,simplify-inference,fold-scale-axis,"
                      "convert-layout{desired=[nn.conv2d:NHWC]},inline,hoist-constants,"
                      "canonicalize-views,convert-patch-conv,recognize-norms");
  EXPECT_EQ(count(t.module, relay::NodeKind::kOpCall), static_cast<std::size_t>(kNodes));
}

}  // namespace
}  // namespace tessera::passes
