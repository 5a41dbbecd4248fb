// SPDX-License-Identifier: Apache-2.0
// Loops, branches and functions that cannot be imported, and sizes that iterations decide.
#include <gtest/gtest.h>

#include "import/testing/refusals.h"

namespace tessera::import {
namespace {

// y = x after `n` times v -> body(v); tests spoil a part.
struct LoopModel : TestModel {
  explicit LoopModel(const std::string& trips = "five") {
    input("x", {3});
    input("n", {1}, onnx::TensorProto::INT64);
    ints("five", {5});
    loop = node("Loop", {trips, "", "x"}, {"y"}, "again");
    body = add_attribute(loop, "body", onnx::AttributeProto::GRAPH)->mutable_g();
    for (const char* name : {"i", "c", "v"}) body->add_input()->set_name(name);
    for (const char* name : {"c2", "v2"}) body->add_output()->set_name(name);
    fill(body->add_node(), "Identity", {"c"}, {"c2"});
    output("y");
  }
  void step(const std::string& op, const std::vector<std::string>& inputs) {
    fill(body->add_node(), op, inputs, {"v2"}, "step");
  }
  onnx::NodeProto* loop;
  onnx::GraphProto* body;
};

TEST(BadLoop, BodyOfOtherInputs) {
  LoopModel m;
  m.step("Relu", {"v"});
  m.body->add_input()->set_name("w");
  expect_refused(m.import(), {{Code::kBadOnnxGraph, "node `again`",
                               "1 carried values and 1 outputs, its body 4 inputs and 2 outputs"}});
}

TEST(BadLoop, ValueThatChangesItsRank) {
  LoopModel m;
  m.step("Flatten", {"v"});
  set_int(m.body->mutable_node(1), "axis", 0);
  expect_refused(m.import(),
                 {{Code::kUnsupportedOnnxNode, "node `again`",
                   "`v` is Tensor[(3), float32] at first and Tensor[(1, 3), float32] after an "
                   "iteration"}});
}

// Sizes that iterations decide are `?`.
TEST(LoopSizes, ValueThatGrows) {
  LoopModel m;
  m.step("Concat", {"v", "v"});
  set_int(m.body->mutable_node(1), "axis", 0);
  const auto module = m.import();
  ASSERT_TRUE(module) << render(module.error());
  const relay::Function& main = module->functions.at("main");
  EXPECT_EQ(to_string(main.type(main.result())), "Tensor[(?), float32]");
}

TEST(LoopSizes, ScanOutputOfUnknownLength) {
  LoopModel m("n");
  m.step("Relu", {"v"});
  m.body->add_output()->set_name("v2");
  m.loop->add_output("rows");
  m.output("rows");
  const auto module = m.import();
  ASSERT_TRUE(module) << render(module.error());
  const relay::Function& main = module->functions.at("main");
  EXPECT_EQ(to_string(flatten(main.type(main.result())).back()), "Tensor[(?, 3), float32]");
}

TEST(BadLoop, ErrorInsideOfTheBody) {
  LoopModel m;
  m.step("Frobnicate", {"v"});
  expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "step", "Frobnicate"}});
}

TEST(BadLoop, ScanOfOtherOutputs) {
  TestModel m;
  m.input("x", {4, 2});
  onnx::NodeProto* scan = m.node("Scan", {"x"}, {"y", "z"}, "rows");
  set_int(scan, "num_scan_inputs", 1);
  auto* body = add_attribute(scan, "body", onnx::AttributeProto::GRAPH)->mutable_g();
  body->add_input()->set_name("row");
  body->add_output()->set_name("out");
  TestModel::fill(body->add_node(), "Relu", {"row"}, {"out"});
  m.output("y");
  expect_refused(m.import(), {{Code::kBadOnnxGraph, "node `rows`",
                               "its inputs and outputs are not those of its body"}});
}

// y[i] = a[i] + b[i], for sequences of these types.
struct TwoSequences : TestModel {
  TwoSequences(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
    input("a", a);
    input("b", b);
    onnx::NodeProto* scan = node("Scan", {"a", "b"}, {"y"}, "both");
    set_int(scan, "num_scan_inputs", 2);
    auto* body = add_attribute(scan, "body", onnx::AttributeProto::GRAPH)->mutable_g();
    for (const char* name : {"r", "s"}) body->add_input()->set_name(name);
    body->add_output()->set_name("sum");
    fill(body->add_node(), "Add", {"r", "s"}, {"sum"});
    output("y");
  }
};

TEST(BadLoop, ScanOverSequencesOfDifferentLengths) {
  TwoSequences m({4, 2}, {3, 2});
  expect_refused(m.import(), {{Code::kShapeMismatch, "node `both`",
                               "the shape (3, 2) has 3 instead of 4 in dimension 0"}});
}

TEST(BadFunction, CallsItself) {
  TestModel m;
  m.input("x", {2});
  m.node("Again", {"x"}, {"y"}, "call")->set_domain("own");
  m.output("y");
  auto* f = m.proto.add_functions();
  f->set_name("Again");
  f->set_domain("own");
  f->add_input("a");
  f->add_output("b");
  auto* inner = f->add_node();
  TestModel::fill(inner, "Again", {"a"}, {"b"}, "inner");
  inner->set_domain("own");
  expect_refused(m.import(), {{Code::kLimitExceeded, "call/inner", "within others or itself"}});
}

}  // namespace
}  // namespace tessera::import
