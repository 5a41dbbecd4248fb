// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/codegen.h"

#include <chrono>

#include <gtest/gtest.h>

#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "support/testing/near_linear.h"

namespace tessera::backends::onednn {
namespace {

// Products in a row, as an unrolled recurrence has them: a region of that many composites.
relay::Function chain(int products) {
  const Type type = tensor_type({2, 2}, kFloat32);
  relay::FunctionBuilder b;
  const NodeId x = b.param("x", type), w = b.param("w", type);
  NodeId at = x;
  for (int i = 0; i < products; ++i) {
    const relay::RegionId body = b.begin_region();
    const NodeId p = b.param("p", type), q = b.param("q", type);
    b.end_region(b.call(ops::op("nn.dense"), {p, q}, {{"units", 2}}));
    const NodeId literal = b.literal(body, {{"Composite", "onednn.dense"}}, type);
    at = b.call_value(literal, std::vector<NodeId>{at, w});
  }
  auto typed = ops::infer_types(b.finish(at));
  EXPECT_TRUE(typed) << render(typed.error());
  return *std::move(typed);
}

// Each composite is matched again, in a graph that is indexed once: indexing it for each would take
// minutes.
TEST(Codegen, ManyCompositesTakeNearLinearTime) {
  if (compiler_library() == nullptr) GTEST_SKIP() << compiler_library_error();
  constexpr int kProducts = tessera::testing::kLargeGraphNodes / 10;
  const relay::Function region = chain(kProducts);
  const SymbolTable symbols;
  ReorderedWeights reordered;
  ConstantPool pool;
  const auto begin = std::chrono::steady_clock::now();
  const auto code = generate("region", region, {symbols}, reordered, pool);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
            tessera::testing::kLargeGraphSeconds);
  ASSERT_TRUE(code) << render(code.error());
  EXPECT_EQ(code->operators.size(), static_cast<std::size_t>(kProducts));
}

// Where a size is likely to be 0 there is no primitive that reads the weight: it stays as it is.
TEST(Codegen, WeightsOfAProductOfNothing) {
  if (compiler_library() == nullptr) GTEST_SKIP() << compiler_library_error();
  relay::FunctionBuilder b;
  const Type rows = tensor_type({Dim::symbol("n"), 2}, kFloat32);
  const NodeId x = b.param("x", rows);
  const relay::RegionId body = b.begin_region();
  const NodeId p = b.param("p", rows),
               w = b.constant(Tensor({2, 2}, kFloat32, Blob::adopt(std::vector<std::byte>(16))));
  b.end_region(b.call(ops::op("nn.dense"), {p, w}, {{"units", 2}}));
  const NodeId literal = b.literal(body, {{"Composite", "onednn.dense"}}, rows);
  const auto region = ops::infer_types(b.finish(b.call_value(literal, std::vector<NodeId>{x})));
  ASSERT_TRUE(region) << render(region.error());
  SymbolTable symbols;
  symbols["n"] = {.name = "n", .min = 0, .likely = 0};
  ReorderedWeights reordered;
  ConstantPool pool;
  const auto code = generate("region", *region, {symbols}, reordered, pool);
  ASSERT_TRUE(code) << render(code.error());
  EXPECT_EQ(code->constants.size(), 1u);
}

// A softmax over an axis that is not the last in memory runs by the reference, but where all after
// the axis are of size 1.
TEST(Codegen, SizesThatOnlyTheReferenceRunsAreTold) {
  if (compiler_library() == nullptr) GTEST_SKIP() << compiler_library_error();
  relay::FunctionBuilder b;
  const Type type = tensor_type({2, 3, Dim::symbol("n")}, kFloat32);
  const NodeId x = b.param("x", type);
  const relay::RegionId body = b.begin_region();
  const NodeId p = b.param("p", type);
  b.end_region(b.call(ops::op("nn.softmax"), {p}, {{"axis", 1}}));
  const NodeId literal = b.literal(body, {{"Composite", "onednn.softmax"}}, type);
  const auto region = ops::infer_types(b.finish(b.call_value(literal, std::vector<NodeId>{x})));
  ASSERT_TRUE(region) << render(region.error());
  const auto slow_sizes = [&](std::int64_t min, std::int64_t max) {
    SymbolTable symbols;
    symbols["n"] = {.name = "n", .min = min, .max = max, .likely = 1};
    ReorderedWeights reordered;
    ConstantPool pool;
    const auto code = generate("region", *region, {symbols}, reordered, pool);
    EXPECT_TRUE(code) << render(code.error());
    return code->slow_sizes;
  };
  EXPECT_EQ(slow_sizes(0, 1), "");
  EXPECT_EQ(slow_sizes(1, 4),
            "at n = 2 oneDNN has only its reference implementation of `onednn.softmax`");
  EXPECT_EQ(slow_sizes(1, 1000),
            "at n = 2 oneDNN has only its reference implementation of `onednn.softmax`");
}

// A dense block: the pooled image lies in blocks of channels where the second convolution's result
// has them innermost.
class DenseBlock {
 public:
  relay::Function region() {
    const NodeId x = b_.param("x", image(3));
    const NodeId wide = call("nn.conv2d", {x}, weights({64, 3, 7, 7}), 64);
    const NodeId pooled = call("nn.max_pool2d", {wide}, {}, 64);
    const NodeId grown = call("nn.conv2d", {shifted(pooled, 64)}, weights({32, 64, 3, 3}), 32);
    return *ops::infer_types(b_.finish(shifted(joined(pooled, grown), 96)));
  }

 private:
  static Type image(std::int64_t channels) {
    return tensor_type({Dim::symbol("n"), channels, 28, 28}, kFloat32);
  }
  static Tensor weights(const Ints& shape) {
    std::size_t bytes = sizeof(float);
    for (const std::int64_t size : shape) bytes *= static_cast<std::size_t>(size);
    return Tensor(shape, kFloat32, Blob::adopt(std::vector<std::byte>(bytes)));
  }
  NodeId composite(const std::string& name, std::int64_t channels, const relay::RegionId& body,
                   std::vector<NodeId> arguments) {
    const NodeId literal = b_.literal(body, {{"Composite", "onednn." + name}}, image(channels));
    return b_.call_value(literal, std::move(arguments));
  }
  NodeId call(const std::string& op, const std::vector<NodeId>& of, std::optional<Tensor> weight,
              std::int64_t channels) {
    const relay::RegionId body = b_.begin_region();
    std::vector<NodeId> operands = {b_.param("p", image(weight ? weight->shape[1] : channels))};
    relay::Attrs attrs = {{"pool_size", Ints{3, 3}}, {"padding", Ints{1, 1}}};
    if (weight) {
      operands.push_back(b_.constant(*weight));
      const std::int64_t size = weight->shape[2];
      attrs = {{"channels", channels},
               {"kernel_size", Ints{size, size}},
               {"padding", Ints{size / 2, size / 2}}};
    }
    b_.end_region(b_.call(ops::op(op), operands, std::move(attrs)));
    return composite(op.substr(3), channels, body, of);
  }
  NodeId shifted(NodeId of, std::int64_t channels) {
    const relay::RegionId body = b_.begin_region();
    const NodeId sum = b_.call(
        ops::op("add"), {b_.param("p", image(channels)), b_.constant(weights({channels, 1, 1}))});
    b_.end_region(b_.call(ops::op("nn.relu"), {sum}));
    return composite("add_relu", channels, body, {of});
  }
  NodeId joined(NodeId a, NodeId b) {
    const relay::RegionId body = b_.begin_region();
    const NodeId fields = b_.tuple(std::vector{b_.param("p", image(64)), b_.param("q", image(32))});
    b_.end_region(b_.call(ops::op("concatenate"), {fields}, {{"axis", 1}}));
    return composite("concatenate", 96, body, {a, b});
  }

  relay::FunctionBuilder b_;
};

TEST(Codegen, DenseBlocksAreNotRunByTheReference) {
  if (compiler_library() == nullptr) GTEST_SKIP() << compiler_library_error();
  SymbolTable symbols;
  symbols["n"] = {.name = "n", .min = 1, .max = 4, .likely = 1};
  ReorderedWeights reordered;
  ConstantPool pool;
  const auto code = generate("region", DenseBlock().region(), {symbols}, reordered, pool);
  ASSERT_TRUE(code) << render(code.error());
  EXPECT_EQ(code->operators.size(), 6u);
  EXPECT_EQ(code->slow_sizes, "");
}

// With the padding that the operator says; ceil_mode may need more, which only a run knows.
TEST(Codegen, PoolingOfImagesOfOpenSizes) {
  if (compiler_library() == nullptr) GTEST_SKIP() << compiler_library_error();
  const auto compiled = [](std::int64_t padding, bool ceil_mode) {
    relay::FunctionBuilder b;
    const Type type = tensor_type({1, 16, Dim::symbol("h"), Dim::symbol("w")}, kFloat32);
    const NodeId x = b.param("x", type);
    const relay::RegionId body = b.begin_region();
    const NodeId p = b.param("p", type);
    b.end_region(b.call(ops::op("nn.max_pool2d"), {p},
                        {{"pool_size", Ints{3, 3}},
                         {"strides", Ints{2, 2}},
                         {"padding", Ints(4, padding)},
                         {"ceil_mode", ceil_mode}}));
    const NodeId literal = b.literal(body, {{"Composite", "onednn.max_pool2d"}}, {});
    const auto region = ops::infer_types(b.finish(b.call_value(literal, std::vector<NodeId>{x})));
    EXPECT_TRUE(region) << render(region.error());
    SymbolTable symbols;
    for (const char* name : {"h", "w"}) symbols[name] = {.name = name, .min = 1, .likely = 20};
    ReorderedWeights reordered;
    ConstantPool pool;
    return generate("region", *region, {symbols}, reordered, pool).has_value();
  };
  EXPECT_TRUE(compiled(1, false));
  EXPECT_FALSE(compiled(1, true));
  EXPECT_FALSE(compiled(2, false));  // of an image of nothing there is a result
}

}  // namespace
}  // namespace tessera::backends::onednn
