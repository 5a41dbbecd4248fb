// SPDX-License-Identifier: Apache-2.0
// What functions compute, with sizes that are open.
#include "ops/evaluation/flops.h"

#include <gtest/gtest.h>

#include "ops/inference/infer_types.h"
#include "ops/records/table.h"

namespace tessera::ops {
namespace {

using relay::Attrs;
using relay::NodeId;

const Dim kN = Dim::symbol("n"), kM = Dim::symbol("m");

std::string flops_text(std::string_view name, const std::vector<Shape>& operands,
                       Attrs attrs = {}) {
  relay::FunctionBuilder b;
  std::vector<NodeId> args;
  for (const Shape& shape : operands) {
    args.push_back(b.param("x" + std::to_string(args.size()), tensor_type(shape, kFloat32)));
  }
  const auto f = infer_types(b.finish(b.call(op(name), args, std::move(attrs))));
  EXPECT_TRUE(f.has_value()) << render(f.error());
  return to_string(flops_of(*f));
}

TEST(Flops, AreProductsOfSizesThatAreOpen) {
  EXPECT_EQ(flops_text("add", {{kN, 3}, {kN, 3}}), "?(3*n)");
  EXPECT_EQ(flops_text("nn.matmul", {{kN, 64}, {64, 32}}, {{"units", 32}}), "?(4096*n)");
  EXPECT_EQ(flops_text("nn.batch_matmul", {{2, kN, kM}, {2, kM, 5}}), "?(20*m*n)");
  EXPECT_EQ(flops_text("nn.softmax", {{kN, kN}}), "?(5*n*n)");
}

TEST(Flops, OfKnownSizesAreANumberAndOfUnknownOnesNothing) {
  EXPECT_EQ(flops_text("nn.matmul", {{2, 3}, {3, 4}}, {{"units", 4}}), "48");
  EXPECT_EQ(flops_text("nn.relu", {{0, 3}}), "0");
  EXPECT_EQ(flops_text("nn.relu", {{Dim::unknown(), 3}}), "?");
  const Dim large = std::int64_t{1} << 30;
  EXPECT_EQ(flops_text("nn.relu", {{large, large}}), "?");
}

TEST(Flops, OfAFunctionAreThoseOfItsCalls) {
  relay::FunctionBuilder b;
  const NodeId x = b.param("x", tensor_type({kN, Dim(4)}, kFloat32));
  const NodeId product =
      b.call(op("nn.dense"), {x, b.param("w", tensor_type({6, 4}, kFloat32))}, {{"units", 6}});
  const auto f = infer_types(b.finish(b.call(op("nn.relu"), {product})));
  ASSERT_TRUE(f.has_value()) << render(f.error());
  EXPECT_EQ(to_string(flops_of(*f)), "?(54*n)");
  EXPECT_EQ(known_flops(*f), 54);
}

}  // namespace
}  // namespace tessera::ops
