// SPDX-License-Identifier: Apache-2.0
// Quantised convolutions of ONNX on their way to a back end for integers: they compute what the
// model says, at their borders, too.
#include <gtest/gtest.h>

#include "backends/table.h"
#include "byoc/partition.h"
#include "driver/pass_order.h"
#include "driver/testing/model_test.h"
#include "import/testing/model.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "passes/manager.h"
#include "passes/pass.h"
#include "passes/pipeline_text.h"
#include "support/testing/requirement.h"

namespace tessera::driver {
namespace {

using testing::value_of;
using Ints = std::vector<std::int64_t>;
using Proto = onnx::TensorProto;

constexpr const char* kPasses =
    "convert-quantized-products,fold-constant,simplify-expr,"
    "convert-layout{desired=[nn.conv2d:NHWC:OHWI]},pad-channels,fold-constant,simplify-expr,"
    "canonicalize-views,eliminate-common-subexpr,eliminate-dead-code";

class QuantizedModels : public ::testing::Test {
 protected:
  // A constant of bytes; a scalar without a shape.
  void bytes(const std::string& name, const Ints& shape, int dtype, const std::string& values) {
    Proto* t = model_.proto.mutable_graph()->add_initializer();
    t->set_name(name);
    t->set_data_type(static_cast<Proto::DataType>(dtype));
    for (const auto d : shape) t->add_dims(d);
    t->set_raw_data(values);
  }
  void zero_point(const std::string& name, int value) {
    bytes(name, {}, Proto::UINT8, std::string(1, static_cast<char>(value)));
  }
  void weights(const std::string& name, const Ints& shape) {
    std::string values;
    std::int64_t count = 1;
    for (const auto d : shape) count *= d;
    for (std::int64_t i = 0; i < count; ++i) values += static_cast<char>(i * 37 % 255 - 127);
    bytes(name, shape, Proto::INT8, values);
  }
  void biases(const std::string& name, const std::vector<std::int32_t>& values) {
    bytes(name, {static_cast<std::int64_t>(values.size())}, Proto::INT32,
          std::string(reinterpret_cast<const char*>(values.data()),  // NOLINT: little-endian bytes
                      values.size() * sizeof(std::int32_t)));
  }

  // What the back end takes, in the order of the graph, after the passes that compilations run. The
  // results are those of the model but for `steps`.
  std::vector<std::string> composites(const std::vector<Tensor>& inputs, double steps) {
    const Module before = value_of(ops::infer_types(value_of(model_.import())));
    const auto calls = value_of(passes::parse_pipeline(kPasses, passes::all_passes()));
    Module after = value_of(
        ops::infer_types(value_of(passes::run_passes(before, calls, ops::operators())).module));
    const auto wanted = ops::evaluate(before, before.functions.at("main"), inputs);
    const auto found = ops::evaluate(after, after.functions.at("main"), inputs);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ(found[i].shape, wanted[i].shape);
      EXPECT_LE(ops::largest_difference(found[i], wanted[i]), steps) << "result " << i;
    }
    const byoc::BackendChoice choices[] = {{backends::find_backend("cutlass"), Target("cutlass")}};
    const auto placed = value_of(byoc::partition_greedy(std::move(after), choices));
    EXPECT_TRUE(placed.refusals.empty());
    std::vector<std::string> names;
    for (const auto& region : placed.regions) {
      names.insert(names.end(), region.composites.begin(), region.composites.end());
    }
    return names;
  }

  import::TestModel model_;
};

Tensor image(const Ints& shape, DType dtype, double least) {
  std::vector<double> values;
  std::int64_t count = 1;
  for (const auto d : shape) count *= d;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(least + static_cast<double>(i * 89 % 256));
  return tensor_from_doubles(shape, dtype, values);
}

// An image of three channels with a zero point, and a second layer without one.
TEST_F(QuantizedModels, QLinearConvIsExact) {
  model_.input("x", {2, 3, 9, 8}, Proto::UINT8);
  model_.floats("s", {}, {0.05F});
  model_.floats("sv", {8}, {1e-3F, 2e-3F, 3e-3F, 4e-3F, 5e-3F, 6e-3F, 7e-3F, 8e-3F});
  zero_point("zx", 114);
  zero_point("zy", 0);
  zero_point("zz", 121);
  weights("w", {8, 3, 3, 2});
  weights("v", {8, 8, 1, 1});
  bytes("zw", {}, Proto::INT8, std::string(1, '\0'));
  bytes("zv", {8}, Proto::INT8, std::string(8, '\0'));
  biases("b", {100, -2000, 3000, 4, 0, -60, 700, 8000});
  auto* first =
      model_.node("QLinearConv", {"x", "s", "zx", "w", "sv", "zw", "s", "zy", "b"}, {"y"});
  import::set_ints(first, "pads", {1, 2, 1, 0});
  import::set_ints(first, "strides", {2, 1});
  model_.node("QLinearConv", {"y", "s", "zy", "v", "sv", "zv", "s", "zz"}, {"z"});
  model_.output("y", {2, 8, 5, 9}, Proto::UINT8);
  model_.output("z", {2, 8, 5, 9}, Proto::UINT8);
  EXPECT_EQ(composites({image({2, 3, 9, 8}, kUInt8, 0)}, 0),
            (std::vector<std::string>{"cutlass.integer_conv2d_requantised",
                                      "cutlass.integer_conv2d_requantised"}));
}

TEST_F(QuantizedModels, ConvIntegerWithAComputedZeroPointIsExact) {
  model_.input("x", {1, 8, 6, 7}, Proto::UINT8);
  model_.input("zx", {}, Proto::UINT8);
  weights("w", {5, 8, 3, 3});
  import::set_ints(model_.node("ConvInteger", {"x", "w", "zx"}, {"y"}), "pads", {1, 0, 2, 1});
  model_.output("y", {1, 5, 7, 6}, Proto::INT32);
  EXPECT_EQ(composites({image({1, 8, 6, 7}, kUInt8, 0), image({}, kUInt8, 77)}, 0),
            std::vector<std::string>{"cutlass.integer_conv2d_shifted"});
}

// What a compilation for a CPU makes of the model until onednn looks at it, and what that takes;
// the results are those of the model.
class QuantizedModelsOnCpu : public QuantizedModels {
 protected:
  void SetUp() override {
    if (backends::find_backend("onednn")->available(Target("onednn"))) {
      (void)::tessera::testing::is_there("onednn", false);
      GTEST_SKIP();
    }
    if (!backends::find_backend("onednn")->capabilities(Target("onednn")).widened_products) {
      GTEST_SKIP() << "oneDNN's sums of bytes are not exact on this CPU: there is no VNNI";
    }
  }

  std::vector<std::string> taken(const std::vector<Tensor>& inputs) {
    CompileOptions options;
    options.targets = {Target("cpu"), Target("onednn")};
    const auto calls =
        value_of(passes::parse_pipeline(pass_list(Stage::kGraph, options), passes::all_passes()));
    const Module before = value_of(ops::infer_types(value_of(model_.import())));
    Module after = value_of(
        ops::infer_types(value_of(passes::run_passes(before, calls, ops::operators())).module));
    const auto wanted = ops::evaluate(before, before.functions.at("main"), inputs);
    const auto found = ops::evaluate(after, after.functions.at("main"), inputs);
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(found[i], wanted[i]);
    const byoc::BackendChoice choices[] = {{backends::find_backend("onednn"), Target("onednn")}};
    const auto placed = value_of(byoc::partition_greedy(std::move(after), choices));
    std::vector<std::string> names;
    for (const auto& region : placed.regions) {
      names.insert(names.end(), region.composites.begin(), region.composites.end());
    }
    return names;
  }
};

TEST_F(QuantizedModelsOnCpu, LayersThatReadOneTensorAreBothTaken) {
  model_.input("x", {2, 8, 6, 7}, Proto::UINT8);
  model_.floats("s", {}, {0.05F});
  model_.floats("t", {}, {1e-3F});
  zero_point("z", 114);
  bytes("zw", {}, Proto::INT8, std::string(1, '\0'));
  weights("v", {8, 8, 3, 3});
  weights("w", {8, 8, 1, 1});
  auto* first = model_.node("QLinearConv", {"x", "s", "z", "v", "t", "zw", "s", "z"}, {"a"});
  import::set_ints(first, "pads", {1, 1, 1, 1});
  model_.node("QLinearConv", {"x", "s", "z", "w", "t", "zw", "s", "z"}, {"b"});
  model_.output("a", {2, 8, 6, 7}, Proto::UINT8);
  model_.output("b", {2, 8, 6, 7}, Proto::UINT8);
  EXPECT_EQ(taken({image({2, 8, 6, 7}, kUInt8, 0)}),
            (std::vector<std::string>(2, "onednn.integer_conv2d_requantised")));
}

// Sums up to 255 * 32 * 9 * 512 are of three parts, or more where weights differ.
TEST_F(QuantizedModelsOnCpu, LongSumsAreOfParts) {
  model_.input("x", {1, 512, 4, 3}, Proto::UINT8);
  model_.input("zx", {}, Proto::UINT8);
  weights("w", {5, 512, 3, 3});
  import::set_ints(model_.node("ConvInteger", {"x", "w", "zx"}, {"y"}), "pads", {1, 0, 2, 1});
  model_.output("y", {1, 5, 5, 2}, Proto::INT32);
  const auto names = taken({image({1, 512, 4, 3}, kUInt8, 0), image({}, kUInt8, 77)});
  EXPECT_EQ(names, std::vector<std::string>(names.size(), "onednn.integer_conv2d"));
  EXPECT_GE(names.size(), 3u);
  EXPECT_LE(names.size(), 6u);
}

TEST_F(QuantizedModelsOnCpu, LongSumsOfProductsAreOfParts) {
  model_.input("x", {2, 3, 3000}, Proto::INT8);
  weights("w", {3000, 5});
  model_.node("MatMulInteger", {"x", "w"}, {"y"});
  model_.output("y", {2, 3, 5}, Proto::INT32);
  const auto names = taken({image({2, 3, 3000}, kInt8, -128)});
  EXPECT_EQ(names, std::vector<std::string>(names.size(), "onednn.integer_matmul"));
}

TEST_F(QuantizedModels, ConvBetweenDequantizationsIsAsNearAsRoundingIs) {
  model_.input("x", {1, 4, 6, 7}, Proto::INT8);
  model_.floats("s", {}, {0.05F});
  model_.floats("sw", {4}, {1e-3F, 2e-3F, 3e-3F, 4e-3F});
  model_.floats("b", {4}, {0.5F, -2, 1, 0});
  bytes("zx", {}, Proto::INT8, std::string(1, '\x11'));
  weights("w", {4, 4, 3, 3});
  bytes("zw", {4}, Proto::INT8, std::string(4, '\0'));
  model_.node("DequantizeLinear", {"x", "s", "zx"}, {"wide"});
  import::set_int(model_.node("DequantizeLinear", {"w", "sw", "zw"}, {"weights"}), "axis", 0);
  import::set_ints(model_.node("Conv", {"wide", "weights", "b"}, {"sums"}), "pads", {1, 1, 1, 1});
  model_.node("Relu", {"sums"}, {"relu"});
  model_.node("QuantizeLinear", {"relu", "s", "zx"}, {"y"});
  model_.output("y", {1, 4, 6, 7}, Proto::INT8);
  EXPECT_EQ(composites({image({1, 4, 6, 7}, kInt8, -128)}, 1),
            std::vector<std::string>{"cutlass.integer_conv2d_requantised"});
}

}  // namespace
}  // namespace tessera::driver
