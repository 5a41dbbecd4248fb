// SPDX-License-Identifier: Apache-2.0
// Sequences and optional values: what is resolved when a model is imported, and what is refused.
#include "import/testing/refusals.h"
#include "ops/evaluation/evaluate_function.h"

namespace tessera::import {
namespace {

// x: float32[4, 6], and s, its parts of 3 columns each.
class Sequences : public ::testing::Test {
 protected:
  Sequences() : m_(18) {
    m_.input("x", {4, 6});
    number("three", 3);
    set_int(m_.node("SplitToSequence", {"x", "three"}, {"s"}, "split"), "axis", 1);
  }

  void number(const std::string& name, std::int64_t value) { m_.ints(name, {value})->clear_dims(); }

  void expect_refusal(Code code, const std::string& place, const std::string& finding) {
    m_.output("y");
    expect_refused(m_.import(), {{code, place, finding}});
  }

  onnx::GraphProto* graph(onnx::NodeProto* n, const std::string& name) {
    return add_attribute(n, name, onnx::AttributeProto::GRAPH)->mutable_g();
  }
  void step(onnx::GraphProto* g, const std::string& op, const std::vector<std::string>& inputs,
            const std::string& output) {
    TestModel::fill(g->add_node(), op, inputs, {output}, op);
  }

  TestModel m_;
};

TEST_F(Sequences, AreGoneAfterTheImport) {
  number("last", -1);
  m_.node("SequenceInsert", {"s", "x"}, {"t"});
  m_.node("SequenceErase", {"t", "last"}, {"u"});
  m_.node("SequenceAt", {"u", "last"}, {"y"});
  m_.node("SequenceLength", {"u"}, {"n"});
  m_.output("y");
  m_.output("n");
  const auto module = m_.import();
  ASSERT_TRUE(module) << render(module.error());
  std::vector<double> x(24);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  const Tensor inputs[] = {tensor_from_doubles({4, 6}, kFloat32, x)};
  const auto results = ops::evaluate(*module, module->functions.at("main"), inputs);
  EXPECT_EQ(results.at(0).shape, (std::vector<std::int64_t>{4, 3}));
  EXPECT_EQ(element_as_double(results[0], 0), 3);
  EXPECT_EQ(element_as_int(results.at(1), 0), 2);
}

TEST_F(Sequences, ABodyThatIsNeverRunGivesTheFirstOnes) {
  number("never", 0);
  auto* body = graph(m_.node("Loop", {"never", "", "s"}, {"t"}, "loop"), "body");
  for (const char* name : {"i", "go", "before"}) body->add_input()->set_name(name);
  step(body, "Identity", {"go"}, "again");
  step(body, "SequenceErase", {"before"}, "after");
  for (const char* name : {"again", "after"}) body->add_output()->set_name(name);
  set_int(m_.node("ConcatFromSequence", {"t"}, {"y"}), "axis", 0);
  m_.output("y", {8, 3});
  EXPECT_TRUE(m_.import());
}

TEST_F(Sequences, AreNoOperandsOfOthers) {
  m_.node("Add", {"x", "s"}, {"y"}, "add");
  expect_refusal(Code::kUnsupportedOnnxNode, "add", "a sequence as its input 1");
}

TEST_F(Sequences, AreNoOutputsOfAModel) {
  m_.output("s");
  expect_refused(m_.import(), {{Code::kUnsupportedOnnxNode, "s", "output `s` is a sequence"}});
}

TEST_F(Sequences, PlacesLieInside) {
  number("two", 2);
  m_.node("SequenceAt", {"s", "two"}, {"y"}, "at");
  expect_refusal(Code::kIndexOutOfRange, "at", "its position is 2 in a sequence of 2");
}

TEST_F(Sequences, PlacesThatComeAtRunTimeNeedElementsOfOneType) {
  m_.input("place", {}, onnx::TensorProto::INT64);
  m_.node("SequenceInsert", {"s", "x"}, {"t"});
  m_.node("SequenceAt", {"t", "place"}, {"y"}, "at");
  expect_refusal(Code::kUnsupportedOnnxNode, "at", "a position that is computed at run time");
}

TEST_F(Sequences, AnEmptyOneHasNoConcatenation) {
  m_.node("SequenceEmpty", {}, {"none"});
  set_int(m_.node("ConcatFromSequence", {"none"}, {"y"}, "concat"), "axis", 0);
  expect_refusal(Code::kShapeMismatch, "concat", "its sequence is empty");
}

TEST_F(Sequences, PartsAddUp) {
  m_.ints("sizes", {2, 5});
  set_int(m_.node("SplitToSequence", {"x", "sizes"}, {"t"}, "other"), "axis", 1);
  m_.node("SequenceLength", {"t"}, {"y"});
  expect_refusal(Code::kShapeMismatch, "other", "do not add up");
}

TEST_F(Sequences, ALoopOverThemHasAKnownCount) {
  m_.input("trips", {}, onnx::TensorProto::INT64);
  auto* body = graph(m_.node("Loop", {"trips", "", "s"}, {"t"}, "loop"), "body");
  for (const char* name : {"i", "go", "before"}) body->add_input()->set_name(name);
  step(body, "Identity", {"go"}, "again");
  step(body, "SequenceErase", {"before"}, "after");
  for (const char* name : {"again", "after"}) body->add_output()->set_name(name);
  m_.node("SequenceLength", {"t"}, {"y"});
  expect_refusal(Code::kUnsupportedOnnxNode, "loop", "known at run time only");
}

TEST_F(Sequences, ABranchThatTheRunTakesGivesNone) {
  m_.input("condition", {}, onnx::TensorProto::BOOL);
  auto* n = m_.node("If", {"condition"}, {"t"}, "if");
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto* body = graph(n, branch);
    step(body, "SequenceConstruct", {"x"}, "r");
    body->add_output()->set_name("r");
  }
  m_.node("SequenceLength", {"t"}, {"y"});
  m_.output("y");
  const auto module = m_.import();
  ASSERT_FALSE(module);
  EXPECT_NE(render(module.error()).find("gives a sequence"), std::string::npos);
}

TEST_F(Sequences, WhatIsAbsentHasNoElement) {
  m_.node("Optional", {}, {"o"});
  m_.node("OptionalHasElement", {"o"}, {"b"});
  auto* n = m_.node("If", {"b"}, {"y"}, "if");
  step(graph(n, "then_branch"), "OptionalGetElement", {"o"}, "r");
  step(graph(n, "else_branch"), "Neg", {"x"}, "r");
  auto* attributes = n->mutable_attribute();
  for (auto& a : *attributes) a.mutable_g()->add_output()->set_name("r");
  m_.output("y", {4, 6});
  EXPECT_TRUE(m_.import());
}

TEST_F(Sequences, AnAbsentElementIsNotTaken) {
  m_.node("Optional", {}, {"o"});
  m_.node("OptionalGetElement", {"o"}, {"y"}, "get");
  expect_refusal(Code::kBadOnnxGraph, "get", "is not there");
}

}  // namespace
}  // namespace tessera::import
