// SPDX-License-Identifier: Apache-2.0
// What the importer makes of models; the numbers are checked by tests/onnx_gate.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "import/onnx_model.h"
#include "import/testing/model.h"
#include "relay/operator.h"
#include "support/testing/near_linear.h"

namespace tessera::import {
namespace {

TEST(Import, NamesAndTypes) {
  TestModel m;
  m.input("ids", {2, 3}, onnx::TensorProto::INT64);
  m.node("Neg", {"ids"}, {"first"});
  m.node("Abs", {"ids"}, {"second"});
  m.output("second");
  m.output("first");
  const Module module = imported(m);
  const relay::Function& main = module.functions.at("main");
  EXPECT_EQ(main.as<relay::Param>(main.params()[0])->name, "ids");
  EXPECT_EQ(*main.attrs.find("output_names"),
            relay::AttrValue(relay::AttrArray{"second", "first"}));
  EXPECT_EQ(to_string(main.type(main.result())), "(Tensor[(2, 3), int64], Tensor[(2, 3), int64])");
}

TEST(Import, SymbolicDimensions) {
  TestModel m;
  m.input("x", {0, 0});
  auto* shape = m.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  shape->mutable_shape()->mutable_dim(0)->set_dim_param("batch");
  shape->mutable_shape()->mutable_dim(1)->set_dim_param("seq");
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  ImportOptions options;
  options.sizes["batch"] = 4;
  const Module module = imported(m, options);
  const relay::Function& main = module.functions.at("main");
  EXPECT_EQ(to_string(main.type(main.params()[0])), "Tensor[(4, ?seq), float32]");
  EXPECT_TRUE(module.symbols.contains("seq"));
  EXPECT_FALSE(module.symbols.contains("batch"));
}

// The shape arithmetic that exporters leave is evaluated: one reshape remains.
TEST(Import, ShapeArithmeticIsFolded) {
  TestModel m;
  m.input("x", {2, 3, 4});
  m.ints("zero", {0});
  m.ints("rest", {-1});
  m.node("Shape", {"x"}, {"shape"});
  m.node("Gather", {"shape", "zero"}, {"rows"});
  set_int(m.node("Concat", {"rows", "rest"}, {"target"}), "axis", 0);
  m.node("Reshape", {"x", "target"}, {"y"});
  m.output("y");
  const Module module = imported(m);
  const relay::Function& main = module.functions.at("main");
  EXPECT_EQ(to_string(main.type(main.result())), "Tensor[(2, 12), float32]");
  std::size_t calls = 0;
  for (std::uint32_t i = 0; i < main.num_nodes(); ++i)
    calls += main.op(relay::NodeId(i)) != nullptr;
  EXPECT_EQ(calls, 1u);
}

// Weights lie in the file: raw data of some size never pass through protobuf.
TEST(Import, WeightsAreMapped) {
  TestModel m;
  m.input("x", {1000});
  m.floats("w", {1000}, std::vector<float>(1000, 2.5f));
  m.node("Mul", {"x", "w"}, {"y"});
  m.output("y");
  const auto model = OnnxModel::read(m.write());
  ASSERT_TRUE(model);
  EXPECT_FALSE(model->proto().graph().initializer(0).has_raw_data());
  const auto w = model->tensor(model->proto().graph().initializer(0), {});
  ASSERT_TRUE(w);
  EXPECT_EQ(element_as_double(*w, 999), 2.5);
}

TEST(Import, TypedFieldsOfNarrowTypes) {
  TestModel m;
  m.input("x", {3}, onnx::TensorProto::INT8);
  auto* t = m.proto.mutable_graph()->add_initializer();
  t->set_name("w");
  t->set_data_type(onnx::TensorProto::INT8);
  t->add_dims(3);
  for (const int v : {-1, 2, -128}) t->add_int32_data(v);
  m.node("Max", {"x", "w"}, {"y"});
  m.output("y");
  const Module module = imported(m);
  EXPECT_EQ(module.constants.tensors()[0], Tensor::of<std::int8_t>({3}, kInt8, {-1, 2, -128}));
}

// Two of four bits in a byte, the first one in its low bits.
TEST(Import, PackedIntegersBecomeBytes) {
  for (const auto& [type, expected] :
       {std::pair{onnx::TensorProto::INT4, Tensor::of<std::int8_t>({3}, kInt8, {-1, 2, -8})},
        std::pair{onnx::TensorProto::UINT4, Tensor::of<std::uint8_t>({3}, kUInt8, {15, 2, 8})}}) {
    TestModel m(21);
    auto* t = m.proto.mutable_graph()->add_initializer();
    t->set_name("w");
    t->set_data_type(type);
    t->add_dims(3);
    t->set_raw_data(std::string("\x2f\x08", 2));
    m.floats("s", {}, {1});
    m.input("z", {},
            expected.dtype.is_signed_int() ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8);
    m.node("DequantizeLinear", {"w", "s", "z"}, {"y"});
    m.output("y");
    const Module module = imported(m);
    EXPECT_EQ(module.constants.tensors()[0], expected);
    t->set_raw_data("\x2f");
    EXPECT_FALSE(m.import());
  }
}

// As bytes they would have other bounds.
TEST(Import, PackedIntegersAreForFewOperators) {
  TestModel m(21);
  auto* t = m.proto.mutable_graph()->add_initializer();
  t->set_name("z");
  t->set_data_type(onnx::TensorProto::INT4);
  t->set_raw_data(std::string(1, '\0'));
  m.node("Relu", {"z"}, {"y"}, "node");
  m.output("y");
  const auto module = m.import();
  ASSERT_FALSE(module);
  EXPECT_NE(render(module.error()).find("an operand of the data type INT4"), std::string::npos);
}

// Before opset 7 the second operand's place was an attribute.
TEST(Import, OldBroadcasting) {
  TestModel m(6);
  m.input("x", {2, 3, 4});
  m.input("b", {3});
  auto* add = m.node("Add", {"x", "b"}, {"y"});
  set_int(add, "broadcast", 1);
  set_int(add, "axis", 1);
  m.output("y");
  const relay::Function main = imported(m).functions.at("main");
  EXPECT_EQ(to_string(main.type(main.result())), "Tensor[(2, 3, 4), float32]");
  EXPECT_EQ(count_calls(main, "reshape"), 1u);
}

// ---- Functions and branches ----

// y = Scaled(x) twice, a function with an attribute that has a default.
TEST(Import, FunctionsAreInlined) {
  TestModel m;
  m.input("x", {2});
  auto* given = m.node("Leaky", {"x"}, {"a"}, "given");
  given->set_domain("own");
  add_attribute(given, "slope", onnx::AttributeProto::FLOAT)->set_f(0.5f);
  m.node("Leaky", {"a"}, {"y"}, "default")->set_domain("own");
  m.output("y");
  auto* f = m.proto.add_functions();
  f->set_name("Leaky");
  f->set_domain("own");
  f->add_input("v");
  f->add_output("w");
  f->add_opset_import()->set_version(17);
  auto* fallback = f->add_attribute_proto();
  fallback->set_name("slope");
  fallback->set_type(onnx::AttributeProto::FLOAT);
  fallback->set_f(0.125f);
  auto* inner = f->add_node();
  TestModel::fill(inner, "LeakyRelu", {"v"}, {"w"}, "leaky");
  add_attribute(inner, "alpha", onnx::AttributeProto::FLOAT)->set_ref_attr_name("slope");

  const relay::Function main = imported(m).functions.at("main");
  std::vector<double> slopes;
  std::vector<std::string> places;
  for (std::uint32_t i = 0; i < main.num_nodes(); ++i) {
    const auto* call = main.as<relay::OpCall>(relay::NodeId(i));
    if (call == nullptr) continue;
    slopes.push_back(*call->attrs.find("alpha")->as<double>());
    places.push_back(std::get<ModelNode>(main[relay::NodeId(i)].location->place).node);
  }
  EXPECT_EQ(slopes, (std::vector<double>{0.5, 0.125}));
  EXPECT_EQ(places, (std::vector<std::string>{"given/leaky", "default/leaky"}));
}

// Looked up by name: comparing each call with each function would take minutes.
TEST(Import, ManyFunctionsTakeNearLinearTime) {
  constexpr int kFunctions = tessera::testing::kLargeGraphNodes;
  TestModel m;
  m.input("x", {2});
  for (int i = 0; i < kFunctions; ++i) {
    const std::string name = "f" + std::to_string(i);
    auto* f = m.proto.add_functions();
    f->set_name(name);
    f->set_domain("own");
    f->add_input("v");
    f->add_output("w");
    f->add_opset_import()->set_version(17);
    TestModel::fill(f->add_node(), i % 2 == 0 ? "Sin" : "Cos", {"v"}, {"w"});
    m.node(name, {i == 0 ? "x" : "y" + std::to_string(i - 1)}, {"y" + std::to_string(i)})
        ->set_domain("own");
  }
  m.output("y" + std::to_string(kFunctions - 1));
  const auto begin = std::chrono::steady_clock::now();
  const Module module = imported(m);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
            tessera::testing::kLargeGraphSeconds);
  const relay::Function& main = module.functions.at("main");
  EXPECT_EQ(main.op(main.result())->name, "cos");
}

// The first of two functions of one name is called.
TEST(Import, TheFirstFunctionOfANameCounts) {
  TestModel m;
  m.input("x", {2});
  m.node("Twice", {"x"}, {"y"})->set_domain("own");
  m.output("y");
  for (const char* op : {"Sin", "Cos"}) {
    auto* f = m.proto.add_functions();
    f->set_name("Twice");
    f->set_domain("own");
    f->add_input("v");
    f->add_output("w");
    f->add_opset_import()->set_version(17);
    TestModel::fill(f->add_node(), op, {"v"}, {"w"});
  }
  const Module module = imported(m);
  const relay::Function& main = module.functions.at("main");
  EXPECT_EQ(main.op(main.result())->name, "sin");
}

onnx::GraphProto branch(const std::string& op) {
  onnx::GraphProto g;
  TestModel::fill(g.add_node(), op, {"x"}, {"r"});
  g.add_output()->set_name("r");
  return g;
}

TEST(Import, KnownConditionTakesItsBranch) {
  TestModel m;
  m.input("x", {2});
  auto* condition = m.proto.mutable_graph()->add_initializer();
  condition->set_name("c");
  condition->set_data_type(onnx::TensorProto::BOOL);
  condition->add_int32_data(0);
  auto* node = m.node("If", {"c"}, {"y"}, "choice");
  *add_attribute(node, "then_branch", onnx::AttributeProto::GRAPH)->mutable_g() = branch("Abs");
  *add_attribute(node, "else_branch", onnx::AttributeProto::GRAPH)->mutable_g() = branch("Relu");
  m.output("y");
  const relay::Function main = imported(m).functions.at("main");
  EXPECT_EQ(count_calls(main, "abs"), 0u);
  EXPECT_EQ(count_calls(main, "nn.relu"), 1u);
}

// ---- Shapes that come at run time ----

// The model states the result's shape, which settles the run-time operand.
TEST(Import, StatedShapeSettlesRuntimeOperand) {
  TestModel m;
  m.input("x", {6});
  m.input("shape", {2}, onnx::TensorProto::INT64);
  m.node("Reshape", {"x", "shape"}, {"y"});
  m.output("y", {2, 3});
  const relay::Function main = imported(m).functions.at("main");
  EXPECT_EQ(to_string(main.type(main.result())), "Tensor[(2, 3), float32]");
  EXPECT_EQ(main.params().size(), 2u);
}

TEST(Import, RuntimeShapeGivesSizesThatDependOnData) {
  TestModel m;
  m.input("x", {6});
  m.input("shape", {2}, onnx::TensorProto::INT64);
  m.node("Reshape", {"x", "shape"}, {"y"}, "r");
  m.output("y");
  const relay::Function main = imported(m).functions.at("main");
  EXPECT_EQ(main.op(main.result())->name, "dyn.reshape");
  EXPECT_EQ(to_string(main.type(main.result())), "Tensor[(?, ?), float32]");
}

}  // namespace
}  // namespace tessera::import
