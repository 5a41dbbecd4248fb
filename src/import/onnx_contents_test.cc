// SPDX-License-Identifier: Apache-2.0
// What is told of a model that cannot be imported: its contents, and each node that is refused.
#include "import/onnx_contents.h"

#include <algorithm>

#include <fmt/format.h>

#include "import/testing/refusals.h"

namespace tessera::import {
namespace {

onnx::GraphProto* graph(onnx::NodeProto* node, const std::string& name) {
  return add_attribute(node, name, onnx::AttributeProto::GRAPH)->mutable_g();
}

// An unknown operator in front, one of a domain of its own, and one in the body of a branch.
TestModel unknown_operators() {
  TestModel m;
  m.input("x", {2, 3});
  m.node("Nothing", {"x"}, {"a"}, "front");
  m.node("Relu", {"a"}, {"b"}, "after");
  m.node("Relu", {"x"}, {"c"}, "beside");
  m.node("Bernoulli", {"c"}, {"d"}, "dice")->set_domain("ai.onnx");
  onnx::NodeProto* branch = m.node("If", {"b"}, {"y"}, "branch");
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::GraphProto* g = graph(branch, name);
    TestModel::fill(g->add_node(), "Hidden", {"c"}, {"r"}, std::string("in ") + name);
    g->mutable_node(0)->set_domain("my.own");
    g->add_output()->set_name("r");
  }
  m.output("y", {2, 3});
  auto* import = m.proto.add_opset_import();
  import->set_domain("my.own");
  import->set_version(3);
  return m;
}

TEST(OnnxContents, ListsWhatItKnowsAndWhatNot) {
  const auto contents = onnx_contents(unknown_operators().write());
  ASSERT_TRUE(contents) << render(contents.error());
  ASSERT_EQ(contents->inputs.size(), 1u);
  EXPECT_EQ(contents->inputs[0].type, "Tensor[(2, 3), FLOAT]");
  EXPECT_EQ(contents->outputs[0].name, "y");
  EXPECT_EQ(contents->opsets, (std::map<std::string, int>{{"ai.onnx", 17}, {"my.own", 3}}));
  std::vector<std::string> found;
  for (const OperatorUse& use : contents->operators) {
    found.push_back(fmt::format("{} {} {} {} {}", use.domain, use.opset, use.op_type, use.count,
                                use.is_known ? "known" : use.why));
  }
  EXPECT_EQ(found, (std::vector<std::string>{"ai.onnx 17 Bernoulli 1 it draws random numbers",
                                             "ai.onnx 17 If 1 known", "ai.onnx 17 Nothing 1 ",
                                             "ai.onnx 17 Relu 2 known", "my.own 3 Hidden 2 "}));
}

// The branch has no condition, and its bodies are looked into all the same.
TEST(OnnxContents, AllRefusedNodesAreReported) {
  const TestModel m = unknown_operators();
  expect_refused(m.import(),
                 {{Code::kUnsupportedOnnxNode, "front", "`Nothing` of ai.onnx opset 17"},
                  {Code::kUnsupportedOnnxNode, "dice", "it draws random numbers"},
                  {Code::kUnsupportedOnnxNode, "branch/in then_branch", "`Hidden` of my.own"},
                  {Code::kUnsupportedOnnxNode, "branch/in else_branch", "opset 3"}});
  const auto nodes = imported_nodes(m.write());
  ASSERT_TRUE(nodes) << render(nodes.error());
  std::vector<std::string> passed_over;
  for (const OnnxNode& n : *nodes) {
    if (!n.looked_at) passed_over.push_back(n.name + " " + n.op_type);
  }
  EXPECT_EQ(passed_over, (std::vector<std::string>{"after Relu", "branch If"}));
}

// A function whose argument is not known, and functions that call each other without end.
TEST(OnnxContents, FunctionsAreLookedIntoWithinLimits) {
  TestModel m;
  m.input("x", {2});
  m.node("Nothing", {"x"}, {"a"}, "front");
  m.node("f", {"a"}, {"y"}, "call")->set_domain("my.own");
  m.output("y");
  onnx::FunctionProto* f = m.proto.add_functions();
  f->set_name("f");
  f->set_domain("my.own");
  f->add_input("p");
  f->add_output("q");
  f->add_opset_import()->set_version(17);
  TestModel::fill(f->add_node(), "Hidden", {"p"}, {"q"}, "in");
  expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "front", "`Nothing`"},
                              {Code::kUnsupportedOnnxNode, "call/in", "`Hidden`"}});
  for (const char* to : {"r", "s"}) {
    TestModel::fill(f->add_node(), "f", {"p"}, {to});
    f->mutable_node(f->node_size() - 1)->set_domain("my.own");
  }
  const auto endless = m.import();
  ASSERT_FALSE(endless);
  EXPECT_TRUE(std::any_of(endless.error().list.begin(), endless.error().list.end(),
                          [](const Diagnostic& d) { return d.code == Code::kLimitExceeded; }));
}

}  // namespace
}  // namespace tessera::import
