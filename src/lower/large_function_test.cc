// SPDX-License-Identifier: Apache-2.0
// Lowering takes near-linear time: each kernel costs what is in it, however many there are.
#include <chrono>

#include <gtest/gtest.h>

#include "lower/main.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "support/testing/near_linear.h"

namespace tessera::lower {
namespace {

using relay::FunctionBuilder;
using relay::NodeId;

// A chain of kernels, as fuse-ops leaves them: each with a literal of its own.
Module chain_of_kernels(int kernels) {
  const Type type = tensor_type({Dim(4)}, kFloat32);
  FunctionBuilder b;
  NodeId at = b.param("x", type);
  for (int i = 0; i < kernels; ++i) {
    const relay::RegionId body = b.begin_region();
    const NodeId inner = b.param("p", type);
    b.end_region(b.call(ops::op(i % 2 == 0 ? "tanh" : "exp"), {inner}));
    const NodeId literal = b.literal(body, {{"Primitive", 1}}, type);
    at = b.call_value(literal, std::vector<NodeId>{at});
  }
  Module module;
  module.functions["main"] = b.finish(at);
  auto inferred = ops::infer_types(std::move(module));
  EXPECT_TRUE(inferred) << render(inferred.error());
  return *std::move(inferred);
}

TEST(LargeFunctions, ManyKernels) {
  constexpr int kKernels = tessera::testing::kLargeGraphNodes;
  Module module = chain_of_kernels(kKernels);
  const auto begin = std::chrono::steady_clock::now();
  const auto lowered = lower(std::move(module));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_TRUE(lowered) << render(lowered.error());
  EXPECT_EQ(lowered->prim_funcs.size(), 3u);  // two kernels and the program that calls them
  EXPECT_LT(seconds, tessera::testing::kLargeGraphSeconds);
}

}  // namespace
}  // namespace tessera::lower
