// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft on quantised tensors. What lies half way between two numbers of a grid
// goes where onnxruntime has it go; the numbers wanted are worked out by hand.
#include <cmath>

#include <gtest/gtest.h>

#include "import/testing/model.h"
#include "import/testing/refusals.h"
#include "ops/evaluation/evaluate_function.h"

namespace tessera::import {
namespace {

using Ints = std::vector<std::int64_t>;
using onnx::TensorProto;

class Qlinear : public ::testing::Test {
 protected:
  std::string add(const Tensor& x, int type) {
    inputs_.push_back(x);
    m_.input("x" + std::to_string(inputs_.size()), x.shape, type);
    return "x" + std::to_string(inputs_.size());
  }
  std::string bytes(const Ints& shape, const Ints& values) {
    return add(tensor_from_ints(shape, kUInt8, values), TensorProto::UINT8);
  }
  std::string zero(std::int64_t value) { return bytes({}, {value}); }
  std::string weights(const Ints& shape, const Ints& values) {
    return add(tensor_from_ints(shape, kInt8, values), TensorProto::INT8);
  }
  std::string sums(const Ints& shape, const Ints& values) {
    return add(tensor_from_ints(shape, kInt32, values), TensorProto::INT32);
  }
  std::string floats(const Ints& shape, const std::vector<double>& values) {
    return add(tensor_from_doubles(shape, kFloat32, values), TensorProto::FLOAT);
  }
  std::string scale(double value) { return floats({}, {value}); }

  onnx::NodeProto* node(const std::string& op, const std::vector<std::string>& inputs) {
    auto* n = m_.node(op, inputs, {"y"}, "node");
    n->set_domain("com.microsoft");
    m_.output("y");
    return n;
  }
  Tensor result() {
    const auto module = m_.import();
    if (!module) throw std::runtime_error(render(module.error()));
    return ops::evaluate(*module, module->functions.at("main"), inputs_).at(0);
  }
  void expect(const Ints& shape, const Ints& wanted) {
    const Tensor y = result();
    EXPECT_EQ(y.dtype, kUInt8);
    EXPECT_EQ(y.shape, shape);
    ASSERT_EQ(y.num_elements(), static_cast<std::int64_t>(wanted.size()));
    for (std::int64_t i = 0; i < y.num_elements(); ++i) {
      EXPECT_EQ(element_as_int(y, i), wanted[static_cast<std::size_t>(i)]) << i;
    }
  }
  void expect_near(const std::vector<double>& wanted) {
    const Tensor y = result();
    EXPECT_EQ(y.dtype, kFloat32);
    ASSERT_EQ(y.num_elements(), static_cast<std::int64_t>(wanted.size()));
    for (std::int64_t i = 0; i < y.num_elements(); ++i) {
      EXPECT_NEAR(element_as_double(y, i), wanted[static_cast<std::size_t>(i)], 1e-5) << i;
    }
  }

  TestModel m_;
  std::vector<Tensor> inputs_;
};

// 0.5 and 1.5 steps above a zero point of 1 are 1.5 and 2.5: both 2, the even one of two.
TEST_F(Qlinear, AddRoundsWithItsZeroPoint) {
  node("QLinearAdd", {bytes({4}, {11, 13, 255, 0}), scale(0.5), zero(10), bytes({1}, {4}), scale(2),
                      zero(4), scale(1), zero(1)});
  expect({4}, {2, 2, 124, 0});
}

TEST_F(Qlinear, MulRoundsWithItsZeroPoint) {
  node("QLinearMul", {bytes({2, 2}, {11, 13, 255, 0}), scale(0.5), zero(10), bytes({2}, {5, 6}),
                      scale(2), "", scale(10), zero(1)});
  expect({2, 2}, {2, 3, 124, 0});
}

// The zero point, 1, is added to what is rounded: 0.5 and 1.5 are 0 and 2 before.
TEST_F(Qlinear, LeakyReluRoundsBeforeItsZeroPoint) {
  auto* n = node("QLinearLeakyRelu",
                 {bytes({4}, {11, 13, 8, 0}), scale(0.5), zero(10), scale(1), zero(1)});
  add_attribute(n, "alpha", onnx::AttributeProto::FLOAT)->set_f(0.125f);
  expect({4}, {1, 3, 1, 0});
}

TEST_F(Qlinear, Sigmoid) {
  node("QLinearSigmoid", {bytes({3}, {10, 255, 0}), scale(1), zero(10), scale(1.0 / 256), ""});
  expect({3}, {128, 255, 0});
}

TEST_F(Qlinear, WhereRoundsBeforeItsZeroPoint) {
  const std::string left = add(tensor_from_ints({2}, kBool, Ints{1, 0}), TensorProto::BOOL);
  node("QLinearWhere", {left, bytes({2}, {11, 11}), scale(0.5), zero(10), bytes({1}, {3}),
                        scale(1.5), zero(2), scale(1), zero(1)});
  expect({2}, {1, 3});
}

// Each part has a grid of its own.
TEST_F(Qlinear, Concat) {
  auto* n = node("QLinearConcat", {scale(1), zero(1), bytes({1, 2}, {11, 13}), scale(0.5), zero(10),
                                   bytes({1, 1}, {7}), scale(4), zero(2)});
  set_int(n, "axis", -1);
  expect({1, 3}, {1, 3, 21});
}

TEST_F(Qlinear, ConcatOfHalfAPartIsRefused) {
  auto* n = node("QLinearConcat", {scale(1), zero(1), bytes({1, 2}, {11, 13}), scale(0.5), zero(10),
                                   bytes({1, 1}, {7}), scale(4)});
  set_int(n, "axis", -1);
  expect_refused(m_.import(), {{Code::kWrongArity, "node", "three for each part"}});
}

TEST_F(Qlinear, AveragePoolOfChannelsLast) {
  auto* n = node("QLinearAveragePool",
                 {bytes({1, 3, 2}, {2, 20, 3, 40, 6, 80}), scale(1), zero(0), scale(1), zero(1)});
  set_ints(n, "kernel_shape", {2});
  set_int(n, "channels_last", 1);
  expect({1, 2, 2}, {4, 31, 6, 61});
}

TEST_F(Qlinear, AveragePoolRefusesWindowsThatReachBeyondPaddingThatCounts) {
  auto* n = node("QLinearAveragePool",
                 {bytes({1, 1, 3}, {2, 20, 3}), scale(1), zero(0), scale(1), zero(1)});
  set_ints(n, "kernel_shape", {2});
  set_int(n, "ceil_mode", 1);
  set_int(n, "count_include_pad", 1);
  expect_refused(m_.import(), {{Code::kUnsupportedOnnxNode, "node", "ceil_mode with padding"}});
}

TEST_F(Qlinear, GlobalAveragePoolRoundsBeforeItsZeroPoint) {
  set_int(node("QLinearGlobalAveragePool",
               {bytes({1, 2, 2}, {0, 1, 1, 2}), scale(1), zero(0), scale(1), zero(1)}),
          "channels_last", 0);
  expect({1, 2, 1}, {1, 3});
}

// Before opset 13 the two dimensions are one.
TEST_F(Qlinear, SoftmaxOfOld) {
  auto* n = node("QLinearSoftmax",
                 {bytes({1, 2, 2}, {9, 9, 9, 9}), scale(1), zero(3), scale(1.0 / 256), zero(0)});
  set_int(n, "axis", 1);
  set_int(n, "opset", 11);
  expect({1, 2, 2}, {64, 64, 64, 64});
}

TEST_F(Qlinear, OperandsOfFloatsAreRefused) {
  node("QLinearSigmoid", {floats({1}, {1}), scale(1), "", scale(1), ""});
  expect_refused(m_.import(), {{Code::kDtypeMismatch, "node", "not of 8-bit integers"}});
}

// Per column: (1 * 3 + 2 * 5 + 4) * 2 * 0.5 / 2 = 8.5, and (1 * -1 + 2 * 1 + 1) * 2 * 1 / 2 = 2.
TEST_F(Qlinear, GemmOfColumns) {
  auto* n = node("QGemm", {bytes({1, 2}, {4, 5}), scale(2), zero(3), weights({2, 2}, {3, 5, 0, 2}),
                           floats({2}, {0.5, 1}), weights({2}, {0, 1}), sums({2}, {4, 1}), scale(2),
                           zero(10)});
  set_int(n, "transB", 1);
  expect({1, 2}, {18, 12});
}

TEST_F(Qlinear, GemmToFloats) {
  auto* n = node("QGemm", {bytes({1, 2}, {4, 5}), scale(2), zero(3), weights({2, 1}, {3, 5}),
                           scale(0.5), weights({}, {1})});
  add_attribute(n, "alpha", onnx::AttributeProto::FLOAT)->set_f(0.25f);
  expect_near({2.5});
}

TEST_F(Qlinear, MatMulIntegerToFloat) {
  node("MatMulIntegerToFloat",
       {bytes({1, 2}, {4, 5}), weights({2, 2}, {3, 0, 5, 2}), scale(2), floats({2}, {0.5, 1}),
        zero(3), weights({2}, {0, 1}), floats({2}, {0.25, -1})});
  expect_near({13.25, 1});
}

// The operand's grid goes from -1 to 254 in steps of 1.
TEST_F(Qlinear, DynamicQuantizeMatMul) {
  node("DynamicQuantizeMatMul", {floats({2, 2}, {-1, 254, 3.4, 7.5}), weights({2, 1}, {1, 2}),
                                 scale(0.5), "", floats({1}, {1})});
  expect_near({254.5, 10.5});
}

// The input's grid has 255 steps from 0 to 1, and 0.25 is not on it.
TEST_F(Qlinear, DynamicQuantizeLstm) {
  const std::string x = floats({1, 1, 2}, {1, 0.25});
  const std::string w = weights({1, 2, 4}, {1, 2, 9, 3, 4, -1, 9, 2});
  const std::string r = weights({1, 1, 4}, {7, 7, 7, 7});
  const std::string half = floats({1}, {0.5}), one = weights({1}, {1});
  set_int(node("DynamicQuantizeLSTM", {x, w, r, "", "", "", "", "", half, one, half, one}),
          "hidden_size", 1);
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  const double quarter = 64.0 / 255;
  const double i = (0 + 3 * quarter) / 2, o = (1 - 2 * quarter) / 2, c = (2 + quarter) / 2;
  expect_near({sigmoid(o) * std::tanh(sigmoid(i) * std::tanh(c))});
}

TEST_F(Qlinear, DynamicQuantizeLstmRefusesLengths) {
  const std::string x = floats({1, 1, 1}, {1}), w = weights({1, 1, 4}, {1, 1, 1, 1});
  const std::string one = floats({1}, {1}), zero = weights({1}, {0}), lengths = sums({1}, {1});
  set_int(node("DynamicQuantizeLSTM", {x, w, w, "", lengths, "", "", "", one, zero, one, zero}),
          "hidden_size", 1);
  expect_refused(m_.import(), {{Code::kUnsupportedOnnxNode, "node", "lengths of sequences"}});
}

}  // namespace
}  // namespace tessera::import
