// SPDX-License-Identifier: Apache-2.0
// What onnxruntime's optimiser fuses. The numbers wanted follow from the operators' definitions.
#include <cmath>

#include <gtest/gtest.h>

#include "import/testing/model.h"
#include "import/testing/refusals.h"
#include "ops/evaluation/evaluate_function.h"

namespace tessera::import {
namespace {

using Doubles = std::vector<double>;

Tensor tensor(const std::vector<std::int64_t>& shape, const Doubles& values) {
  return tensor_from_doubles(shape, kFloat32, values);
}

class Fused : public ::testing::Test {
 protected:
  // A node of com.microsoft, which the model need not import.
  onnx::NodeProto* node(const std::string& op, const std::vector<Tensor>& inputs) {
    std::vector<std::string> names;
    for (const Tensor& x : inputs) {
      names.push_back(x.shape.empty() ? "" : "x" + std::to_string(names.size()));
      if (x.shape.empty()) continue;
      m_.input(names.back(), x.shape);
      inputs_.push_back(x);
    }
    auto* n = m_.node(op, names, {"y"}, "node");
    n->set_domain("com.microsoft");
    m_.output("y");
    return n;
  }
  void expect(const std::vector<std::int64_t>& shape, const Doubles& wanted) {
    const auto module = m_.import();
    ASSERT_TRUE(module) << render(module.error());
    const Tensor y = ops::evaluate(*module, module->functions.at("main"), inputs_).at(0);
    EXPECT_EQ(y.shape, shape);
    ASSERT_EQ(y.num_elements(), static_cast<std::int64_t>(wanted.size()));
    for (std::int64_t i = 0; i < y.num_elements(); ++i) {
      EXPECT_NEAR(element_as_double(y, i), wanted[static_cast<std::size_t>(i)], 1e-5) << i;
    }
  }
  static void set_float(onnx::NodeProto* n, const std::string& name, float value) {
    add_attribute(n, name, onnx::AttributeProto::FLOAT)->set_f(value);
  }

  TestModel m_;
  std::vector<Tensor> inputs_;
};

// A is stored with its rows first, the batch last: row r of batch b is element (r, b, :).
TEST_F(Fused, MatMulOfABatchInside) {
  auto* n =
      node("FusedMatMul", {tensor({2, 3, 1}, {1, 2, 3, 4, 5, 6}), tensor({3, 1, 1}, {1, 10, 100})});
  set_int(n, "transBatchA", 1);
  set_float(n, "alpha", 0.5);
  expect({3, 2, 1}, {0.5, 2, 10, 25, 150, 300});
}

TEST_F(Fused, MatMulOfTransposedOperands) {
  auto* n = node("FusedMatMul", {tensor({2, 1}, {1, 2}), tensor({3, 2}, {1, 2, 3, 4, 5, 6})});
  set_int(n, "transA", 1);
  set_int(n, "transB", 1);
  expect({1, 3}, {5, 11, 17});
}

TEST_F(Fused, MatMulWithAVectorTransposesNoVector) {
  auto* n = node("FusedMatMul", {tensor({2}, {1, 2}), tensor({2, 2}, {1, 2, 3, 4})});
  set_int(n, "transA", 1);
  expect({2}, {7, 10});
}

TEST_F(Fused, MatMulRefusesWhatHasNoOneMeaning) {
  set_int(node("FusedMatMul", {tensor({2, 3}, Doubles(6, 1)), tensor({2}, {1, 2})}), "transA", 1);
  expect_refused(m_.import(), {{Code::kUnsupportedOnnxNode, "node", "transposed A and a vector"}});
}

TEST_F(Fused, MatMulRefusesABatchInsideOfMatrices) {
  set_int(node("FusedMatMul", {tensor({2, 3}, Doubles(6, 1)), tensor({3, 2}, Doubles(6, 1))}),
          "transBatchB", 1);
  expect_refused(m_.import(), {{Code::kShapeMismatch, "node", "three or more dimensions"}});
}

TEST_F(Fused, GemmWithActivation) {
  auto* n = node("FusedGemm",
                 {tensor({1, 2}, {1, -1}), tensor({2, 2}, {1, 4, 3, 2}), tensor({2}, {0, 2})});
  set_string(n, "activation", "LeakyRelu");
  set_float(n, "activation_alpha", 0.25);
  expect({1, 2}, {-0.5, 4});
}

// The sum is bounded, not the product.
TEST_F(Fused, ConvAddsBeforeItsActivation) {
  auto* n = node("FusedConv", {tensor({1, 1, 3}, {1, 2, 3}), tensor({1, 1, 1}, {2}),
                               tensor({1}, {1}), tensor({1, 1, 3}, {-9, 0, 5})});
  set_string(n, "activation", "Clip");
  auto* params = add_attribute(n, "activation_params", onnx::AttributeProto::FLOATS);
  for (const float p : {0.0f, 6.0f}) params->add_floats(p);
  expect({1, 1, 3}, {0, 5, 6});
}

TEST_F(Fused, UnknownActivationIsRefused) {
  set_string(node("FusedConv", {tensor({1, 1, 3}, {1, 2, 3}), tensor({1, 1, 1}, {2})}),
             "activation", "Sine");
  expect_refused(m_.import(), {{Code::kUnsupportedOnnxNode, "node", "activation `Sine`"}});
}

TEST_F(Fused, LayoutsOfOneMachineAreRefusedWithAReason) {
  node("Conv", {tensor({1, 1, 3}, {1, 2, 3}), tensor({1, 1, 1}, {2})})
      ->set_domain("com.microsoft.nchwc");
  expect_refused(m_.import(), {{Code::kUnsupportedOnnxNode, "node", "level `extended`"}});
}

TEST_F(Fused, GelusAddTheirBias) {
  node("BiasGelu", {tensor({2}, {0, 3}), tensor({2}, {1, -4})});
  const double at_one = (1 + std::erf(1 / std::sqrt(2.0))) / 2;
  expect({2}, {at_one, at_one - 1});
}

TEST_F(Fused, FastGelu) {
  node("FastGelu", {tensor({2}, {0, 3}), tensor({2}, {1, -4})});
  const double half = std::tanh(std::sqrt(2 / std::acos(-1.0)) * 1.044715) / 2;
  expect({2}, {0.5 + half, half - 0.5});
}

TEST_F(Fused, QuickGelu) {
  set_float(node("QuickGelu", {tensor({2}, {2, -1})}), "alpha", 2);
  expect({2}, {2 / (1 + std::exp(-4.0)), -1 / (1 + std::exp(2.0))});
}

}  // namespace
}  // namespace tessera::import
