// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM as loops; their numbers are checked by tests/onnx_gate and tests/zoo.
#include <gtest/gtest.h>

#include "import/testing/refusals.h"
#include "relay/operator.h"

namespace tessera::import {
namespace {

std::size_t count_products(const relay::Function& f) { return count_calls(f, "nn.dense"); }

// A model of hidden size 2 and input size 3; weights are known.
struct RecurrentModel : TestModel {
  RecurrentModel(const std::string& op, std::int64_t gates, std::int64_t steps) {
    input("x", {steps, 4, 3});
    const auto rows = static_cast<std::size_t>(2 * gates);
    floats("w", {1, 2 * gates, 3}, std::vector<float>(rows * 3, 0.5f));
    floats("r", {1, 2 * gates, 2}, std::vector<float>(rows * 2, 0.5f));
    layer = node(op, {"x", "w", "r"}, {"y", "h"}, "layer");
    set_int(layer, "hidden_size", 2);
    output("y");
    output("h");
  }
  // The sizes of the input `i` by name: open ones.
  void open(int i, const std::vector<std::string>& names) {
    auto* type = proto.mutable_graph()->mutable_input(i)->mutable_type()->mutable_tensor_type();
    for (std::size_t d = 0; d < names.size(); ++d) {
      if (names[d].empty()) continue;
      type->mutable_shape()->mutable_dim(static_cast<int>(d))->set_dim_param(names[d]);
    }
  }
  // A further input of the layer, in the place `i`.
  void add_input(int i, const std::string& name, const std::vector<std::int64_t>& shape,
                 int dtype = onnx::TensorProto::FLOAT) {
    input(name, shape, dtype);
    while (layer->input_size() < i) layer->add_input("");
    layer->add_input(name);
  }
  onnx::NodeProto* layer;
};

std::string result_type(const Module& module) {
  const relay::Function& main = module.functions.at("main");
  return to_string(main.type(main.result()));
}

TEST(Recurrent, OpenSizesGiveALoop) {
  for (const auto& [op, gates] : {std::pair{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}}) {
    RecurrentModel m(op, gates, 7);
    m.open(0, {"time", "batch"});
    const auto module = m.import();
    ASSERT_TRUE(module) << op << ": " << render(module.error());
    EXPECT_TRUE(module->functions.contains("loop_0")) << op;
    EXPECT_EQ(result_type(*module),
              "(Tensor[(?time, 1, ?batch, 2), float32], Tensor[(1, ?batch, 2), float32])");
  }
}

// One product with the input serves all steps; the loop has the weights of the other as constants.
TEST(Recurrent, LongSequenceIsALoop) {
  RecurrentModel m("LSTM", 4, 17);
  const auto module = m.import();
  ASSERT_TRUE(module) << render(module.error());
  const relay::Function& loop = module->functions.at("loop_0");
  EXPECT_EQ(count_products(module->functions.at("main")), 1u);
  EXPECT_EQ(count_products(loop), 1u);
  EXPECT_EQ(loop.params().size(), 5u);  // the iteration, both states, rows, the projected input
}

// Of one row, or two, and a small known weight: that of the state is no product for a library.
TEST(Recurrent, FewMultiplicationsAreSums) {
  for (const auto& [batch, products] : {std::pair{1, 0u}, {2, 0u}, {3, 1u}}) {
    RecurrentModel m("LSTM", 4, 300);
    auto* type = m.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
    type->mutable_shape()->mutable_dim(1)->set_dim_value(batch);
    const auto module = m.import();
    ASSERT_TRUE(module) << render(module.error());
    const relay::Function& loop = module->functions.at("loop_0");
    EXPECT_EQ(count_products(loop), products) << batch;
    EXPECT_EQ(count_calls(loop, "sum"), 1 - products) << batch;
    EXPECT_EQ(count_calls(loop, "transpose"), 0u);  // of a constant, done when compiling
  }
}

TEST(Recurrent, ShortSequenceIsUnrolled) {
  RecurrentModel m("LSTM", 4, 16);
  m.add_input(5, "state", {1, 4, 2});
  const auto module = m.import();
  ASSERT_TRUE(module) << render(module.error());
  EXPECT_EQ(module->functions.size(), 1u);
  EXPECT_EQ(count_products(module->functions.at("main")), 17u);
}

TEST(Recurrent, SequenceWithoutSteps) {
  const auto module = RecurrentModel("GRU", 3, 0).import();
  ASSERT_TRUE(module) << render(module.error());
  EXPECT_EQ(result_type(*module), "(Tensor[(0, 1, 4, 2), float32], Tensor[(1, 4, 2), float32])");
}

// Sizes of other names are compared in the run.
TEST(Recurrent, StateOfAnotherName) {
  RecurrentModel m("GRU", 3, 20);
  m.add_input(4, "lengths", {4}, onnx::TensorProto::INT32);
  m.add_input(5, "state", {1, 4, 2});
  m.open(0, {"", "batch"});
  m.open(1, {"sequences"});
  m.open(2, {"", "states", "width"});
  const auto module = m.import();
  ASSERT_TRUE(module) << render(module.error());
  EXPECT_TRUE(module->functions.contains("loop_0"));
}

TEST(Recurrent, StateOfAnotherBatch) {
  RecurrentModel m("RNN", 1, 20);
  m.add_input(5, "state", {1, 5, 2});
  expect_refused(m.import(),
                 {{Code::kShapeMismatch, "layer",
                   "an operand of the shape (5, 2) has 5 instead of 4 in dimension 0"}});
}

TEST(Recurrent, BatchFirstIsThatOfStatesToo) {
  RecurrentModel m("RNN", 1, 4);
  set_int(m.layer, "layout", 1);
  m.add_input(5, "state", {4, 1, 2});
  const auto module = m.import();
  ASSERT_TRUE(module) << render(module.error());
  EXPECT_EQ(result_type(*module), "(Tensor[(4, 4, 1, 2), float32], Tensor[(4, 1, 2), float32])");
}

TEST(Recurrent, BiasThatIsTooShort) {
  RecurrentModel m("RNN", 1, 20);
  m.add_input(3, "bias", {1, 2});
  expect_refused(m.import(), {{Code::kShapeMismatch, "layer", "do not fit hidden_size"}});
}

}  // namespace
}  // namespace tessera::import
