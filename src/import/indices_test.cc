// SPDX-License-Identifier: Apache-2.0
// Indices of gathering and scattering operators: which are checked in the run, and which in the
// import.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "import/testing/model.h"

namespace tessera::import {
namespace {

constexpr int kInt64Type = onnx::TensorProto::INT64;

std::vector<relay::NodeId> checks_in(const Module& module) {
  const relay::Function& f = module.functions.at("main");
  std::vector<relay::NodeId> found;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const relay::NodeId id(i);
    if (relay::is_call_of(f, id, "check_indices")) found.push_back(id);
  }
  return found;
}

std::string attribute(const Module& module, relay::NodeId check, std::string_view name) {
  const auto* call = module.functions.at("main").as<relay::OpCall>(check);
  std::string text;
  const relay::AttrValue* value = call->attrs.find(name);
  if (value == nullptr) return text;
  for (const auto n : relay::AttrCodec<std::vector<std::int64_t>>::decode(*value)) {
    text += fmt::format("{} ", n);
  }
  return text;
}

struct Taker {
  const char* op;
  std::vector<std::int64_t> data, indices, updates;
  const char* axes;
  const char* sizes;
};

class Takers : public ::testing::TestWithParam<Taker> {};

TEST_P(Takers, CheckWhatTheRunTellsThem) {
  const Taker& t = GetParam();
  TestModel m(18);
  m.input("x", t.data);
  m.input("i", t.indices, kInt64Type);
  std::vector<std::string> inputs = {"x", "i"};
  if (!t.updates.empty()) {
    m.input("u", t.updates);
    inputs.push_back("u");
  }
  m.node(t.op, inputs, {"y"}, "taker");
  m.output("y");
  const auto module = m.import();
  ASSERT_TRUE(module) << render(module.error());
  const auto checks = checks_in(*module);
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(attribute(*module, checks[0], "axes"), t.axes);
  EXPECT_EQ(attribute(*module, checks[0], "sizes"), t.sizes);
}

INSTANTIATE_TEST_SUITE_P(
    Onnx, Takers,
    ::testing::Values(Taker{"Gather", {5, 3}, {4}, {}, "0 ", "5 "},
                      Taker{"GatherElements", {5, 3}, {2, 3}, {}, "0 ", "5 "},
                      Taker{"GatherND", {5, 3, 2}, {4, 2}, {}, "0 1 ", "5 3 "},
                      Taker{"ScatterElements", {5, 3}, {2, 3}, {2, 3}, "0 ", "5 "},
                      Taker{"ScatterND", {5, 3}, {4, 1}, {4, 3}, "0 ", "5 "},
                      Taker{"NegativeLogLikelihoodLoss", {5, 3}, {5}, {}, "1 ", "3 "}),
    [](const auto& info) { return std::string(info.param.op); });

TEST(ConstantIndices, InsideNeedNoCheck) {
  TestModel m;
  m.input("x", {5, 3});
  m.ints("i", {0, 4, -5});
  m.node("Gather", {"x", "i"}, {"y"}, "taker");
  m.output("y");
  const auto module = m.import();
  ASSERT_TRUE(module) << render(module.error());
  const relay::Function& f = module->functions.at("main");
  const relay::NodeId taken = f.result();
  ASSERT_TRUE(relay::is_call_of(f, taken, "take"));
  EXPECT_NE(f.as<relay::Constant>(f.operands(taken)[1]), nullptr);
}

TEST(ConstantIndices, OutsideAreRefused) {
  for (const std::int64_t index : {std::int64_t{5}, std::int64_t{-6}, INT64_MIN, INT64_MAX}) {
    for (const char* op : {"Gather", "GatherElements", "ScatterElements"}) {
      TestModel m;
      m.input("x", {5, 3});
      auto* i = m.ints("i", {0, 1, index});
      if (std::string_view(op) != "Gather") i->add_dims(1);
      m.input("u", {3, 1});
      std::vector<std::string> inputs = {"x", "i"};
      if (std::string_view(op) == "ScatterElements") inputs.push_back("u");
      m.node(op, inputs, {"y"}, "taker");
      m.output("y");
      const auto module = m.import();
      ASSERT_FALSE(module) << op;
      const Diagnostic& why = module.error().list.at(0);
      EXPECT_EQ(why.code, Code::kIndexOutOfRange) << render(module.error());
      const std::string text = render(module.error());
      for (const std::string& part : {std::string("taker"), std::to_string(index),
                                      std::string("element 2"), std::string("5 elements")}) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::import
