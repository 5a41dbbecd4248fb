// SPDX-License-Identifier: Apache-2.0
// Weights of a few bits stay packed, and those that do not fit are refused.
#include <cmath>

#include <gtest/gtest.h>

#include "import/testing/refusals.h"

namespace tessera::import {
namespace {

constexpr int kBytes = onnx::TensorProto::UINT8;

onnx::NodeProto* product(TestModel& m, const std::vector<std::int64_t>& packed, std::int64_t width,
                         const std::vector<std::string>& more = {}) {
  m.input("x", {2, 40});
  m.input("w", packed, kBytes);
  m.input("s", {5, 3});
  m.input("z", {5, 2}, kBytes);
  m.input("g", {40}, onnx::TensorProto::INT32);
  std::vector<std::string> inputs = {"x", "w", "s"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  auto* n = m.node("MatMulNBits", inputs, {"y"}, "node");
  n->set_domain("com.microsoft");
  m.output("y");
  for (const auto& [name, value] : {std::pair{"K", width}, std::pair{"N", std::int64_t{5}},
                                    std::pair{"block_size", std::int64_t{16}}}) {
    set_int(n, name, value);
  }
  return n;
}

TEST(MatMulNBits, IsAProductWithAnUnpackedWeight) {
  TestModel m;
  product(m, {5, 3, 8}, 40);
  const auto module = m.import();
  ASSERT_TRUE(module) << render(module.error());
  const relay::Function& main = module->functions.at("main");
  EXPECT_EQ(to_string(main.type(main.result())), "Tensor[(2, 5), float32]");
}

TEST(MatMulNBits, WhatItRefuses) {
  const auto refused = [](Code code, const std::string& finding, TestModel m) {
    expect_refused(m.import(), {{code, "node", finding}});
  };
  TestModel blocks, groups, zeros, order, bits, none;
  product(blocks, {5, 4, 8}, 40);
  refused(Code::kShapeMismatch, "a weight of 5 rows of 40 elements", std::move(blocks));
  product(groups, {5, 3, 8}, 40, {"", "g"});
  refused(Code::kUnsupportedOnnxNode, "g_idx", std::move(groups));
  product(zeros, {5, 3, 8}, 40, {"z"});
  refused(Code::kUnsupportedOnnxNode, "zero points that is computed at run time", std::move(zeros));
  set_int(product(order, {5, 3, 8}, 40), "weight_prepacked", 1);
  refused(Code::kUnsupportedOnnxNode, "the order of one GPU", std::move(order));
  set_int(product(bits, {5, 3, 8}, 40), "bits", 3);
  refused(Code::kUnsupportedOnnxNode, "3 bits", std::move(bits));
  product(none, {5, 3, 8}, INT64_MIN);
  refused(Code::kWrongAttribute, "its weight has K = ", std::move(none));
  TestModel uneven, scale, nan;
  for (auto& attribute : *product(uneven, {5, 3, 8}, 40)->mutable_attribute()) {
    if (attribute.name() == "block_size") attribute.set_i(20);
  }
  refused(Code::kWrongAttribute, "its block_size is 20", std::move(uneven));
  product(scale, {5, 3, 8}, 40)->set_input(2, "");
  refused(Code::kWrongArity, "its input 2 is not given", std::move(scale));
  product(nan, {5, 3, 8}, 40, {"zeros"});
  std::vector<float> points(15, 8.0f);
  points[7] = std::nanf("");
  nan.floats("zeros", {5, 3}, points);
  refused(Code::kWrongAttribute, "its zero point 7 is no number", std::move(nan));
}

// Weights [64, 8] with scales, and zero points if their type is not 0, for blocks of 32 rows.
TestModel dequantized(int type, const std::vector<std::int64_t>& scales, int zero_type = 0) {
  TestModel m(21);
  const auto constant = [&](const std::string& name, const std::vector<std::int64_t>& sizes,
                            int t) {
    auto* tensor = m.proto.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(t);
    for (const std::int64_t size : sizes) tensor->add_dims(size);
    for (std::int64_t i = 0; i < sizes[0] * sizes[1]; ++i) {
      t == onnx::TensorProto::FLOAT ? tensor->add_float_data(1) : tensor->add_int32_data(99);
    }
  };
  std::vector<std::string> inputs = {"w", "s"};
  constant("w", {64, 8}, type);
  constant("s", scales, onnx::TensorProto::FLOAT);
  if (zero_type != 0) {
    constant("z", scales, zero_type);
    inputs.emplace_back("z");
  }
  auto* n = m.node("DequantizeLinear", inputs, {"y"}, "node");
  set_int(n, "axis", 0);
  set_int(n, "block_size", 32);
  m.output("y");
  return m;
}

// Of bytes, which stay packed, and of wider types, which do not.
TEST(DequantizeLinear, HasAsManyBlocksAsThereAre) {
  for (const int type : {onnx::TensorProto::INT8, onnx::TensorProto::UINT8,
                         onnx::TensorProto::UINT16, onnx::TensorProto::INT32}) {
    EXPECT_TRUE(dequantized(type, {2, 8}).import()) << type;
    for (const std::int64_t blocks : {1, 3, 64}) {
      expect_refused(dequantized(type, {blocks, 8}).import(),
                     {{Code::kShapeMismatch, "node", "blocks"}});
    }
  }
}

TEST(DequantizeLinear, ZeroPointsAreOfTheTypeOfTheValues) {
  using T = onnx::TensorProto;
  EXPECT_TRUE(dequantized(T::INT8, {2, 8}, T::INT8).import());
  const std::pair<int, int> others[] = {
      {T::INT8, T::UINT8}, {T::INT8, T::INT32}, {T::UINT16, T::INT32}};
  for (const auto& [type, zero] : others) {
    expect_refused(dequantized(type, {2, 8}, zero).import(),
                   {{Code::kDtypeMismatch, "node", "zero points"}});
  }
}

// With a function of the operator's name, whose result is its first input.
Module with_function(TestModel m) {
  auto* f = m.proto.add_functions();
  f->set_name("MatMulNBits");
  f->set_domain("com.microsoft");
  for (const char* name : {"A", "B", "scales", "zero_points", "g_idx"}) f->add_input(name);
  f->add_output("Y");
  f->add_opset_import()->set_version(17);
  TestModel::fill(f->add_node(), "Identity", {"A"}, {"Y"}, "body");
  auto module = m.import();
  EXPECT_TRUE(module) << render(module.error());
  return std::move(*module);
}

TEST(MatMulNBits, AFunctionOfItsNameIsForThoseThatLackIt) {
  TestModel known, unknown;
  product(known, {5, 3, 8}, 40);
  product(unknown, {5, 3, 8}, 40, {"", "g"});
  const Module own = with_function(std::move(known)), body = with_function(std::move(unknown));
  const relay::Function& main = own.functions.at("main");
  EXPECT_EQ(to_string(main.type(main.result())), "Tensor[(2, 5), float32]");
  const relay::Function& fallen = body.functions.at("main");
  EXPECT_EQ(to_string(fallen.type(fallen.result())), "Tensor[(2, 40), float32]");
}

TEST(GatherBlockQuantized, DoesNotGatherAlongBlocks) {
  TestModel m;
  m.input("w", {6, 16}, kBytes);
  m.input("i", {3}, onnx::TensorProto::INT64);
  m.input("s", {6, 2});
  auto* n = m.node("GatherBlockQuantized", {"w", "i", "s"}, {"y"}, "node");
  n->set_domain("com.microsoft");
  set_int(n, "gather_axis", 1);
  m.output("y");
  expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "node", "along the blocks"}});
}

}  // namespace
}  // namespace tessera::import
