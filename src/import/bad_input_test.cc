// SPDX-License-Identifier: Apache-2.0
// Graphs, attributes and sizes that cannot be imported.
#include <gtest/gtest.h>

#include "import/testing/refusals.h"

namespace tessera::import {
namespace {

// ---- Convolutions ----

TEST(BadConvolution, TheKernelsShapeIsThatOfTheWeight) {
  for (const bool quantised : {false, true}) {
    TestModel m;
    const int dtype = quantised ? onnx::TensorProto::UINT8 : onnx::TensorProto::FLOAT;
    m.input("x", {1, 2, 5, 5}, dtype);
    m.input("w", {3, 2, 3, 3}, dtype);
    onnx::NodeProto* conv = nullptr;
    if (quantised) {
      for (const char* scale : {"sx", "sw", "sy"}) m.floats(scale, {}, {1});
      for (const char* zero : {"zx", "zw", "zy"}) m.input(zero, {}, dtype);
      conv = m.node("QLinearConv", {"x", "sx", "zx", "w", "sw", "zw", "sy", "zy"}, {"y"}, "conv");
    } else {
      conv = m.node("Conv", {"x", "w"}, {"y"}, "conv");
    }
    set_ints(conv, "kernel_shape", {3, 2});
    m.output("y");
    expect_refused(m.import(), {{Code::kWrongAttribute, "conv",
                                 "kernel_shape is not the shape of its weight"}});
  }
}

// ---- Graphs ----

TEST(BadGraph, EveryUnsupportedNodeIsListed) {
  TestModel m(13);
  m.input("x", {2, 2});
  m.node("NoSuchOperator", {"x"}, {"a"}, "first");
  m.node("Bernoulli", {"a"}, {"b"}, "second");  // after a failed one
  m.node("FusedGelu", {"x"}, {"c"}, "third")->set_domain("com.example");
  set_string(m.node("Gemm", {"x", "x"}, {"d"}, "fourth"), "colour", "red");
  m.node("Relu", {"b"}, {"y"}, "fifth");
  m.output("y");
  m.output("d");
  expect_refused(m.import(),
                 {{Code::kUnsupportedOnnxNode, "first", "`NoSuchOperator` of ai.onnx opset 13"},
                  {Code::kUnsupportedOnnxNode, "second", "`Bernoulli` of ai.onnx opset 13"},
                  {Code::kUnsupportedOnnxNode, "third", "`FusedGelu` of com.example"},
                  {Code::kUnsupportedOnnxNode, "fourth", "the attribute `colour`"}});
}

// Each domain has versions of its own, in a function's body those that the function imports.
TEST(BadGraph, OperatorsAreOfTheirDomainsVersion) {
  TestModel m(13);
  const auto import = [](auto* proto, const char* domain, int version) {
    auto* set = proto->add_opset_import();
    set->set_domain(domain);
    set->set_version(version);
  };
  import(&m.proto, "com.microsoft", 1);
  import(&m.proto, "ai.onnx.ml", 3);
  m.input("x", {2, 2});
  m.node("BiasGeluGrad", {"x"}, {"a"}, "first")->set_domain("com.microsoft");
  m.node("CastMap", {"x"}, {"b"}, "second")->set_domain("ai.onnx.ml");
  onnx::NodeProto* wrong = m.node("Gelu", {"x"}, {"c"}, "third");
  wrong->set_domain("com.microsoft");
  set_int(wrong, "strength", 11);
  m.node("Lost", {"x"}, {"d"}, "fourth")->set_domain("com.example");
  m.node("Wrapped", {"x"}, {"e"}, "fifth")->set_domain("local");
  onnx::FunctionProto* f = m.proto.add_functions();
  f->set_domain("local");
  f->set_name("Wrapped");
  f->add_input("p");
  f->add_output("q");
  import(f, "", 17);
  import(f, "ai.onnx.ml", 4);
  onnx::NodeProto* inner = f->add_node();
  inner->set_op_type("DictVectorizer");
  inner->set_domain("ai.onnx.ml");
  inner->add_input("p");
  inner->add_output("q");
  inner->set_name("inner");
  m.output("a");
  expect_refused(
      m.import(),
      {{Code::kUnsupportedOnnxNode, "first", "`BiasGeluGrad` of com.microsoft opset 1 is not"},
       {Code::kUnsupportedOnnxNode, "second", "`CastMap` of ai.onnx.ml opset 3 is not"},
       {Code::kUnsupportedOnnxNode, "third", "`Gelu` of com.microsoft opset 1"},
       {Code::kUnsupportedOnnxNode, "fourth",
        "`Lost` of com.example, which the model does not import, is not"},
       {Code::kUnsupportedOnnxNode, "fifth/inner",
        "`DictVectorizer` of ai.onnx.ml opset 4 is not"}});
}

// What a failed node was to give has the type that the model states: later nodes are checked.
TEST(BadGraph, NodesBehindAFailedOne) {
  TestModel m;
  m.input("x", {2, 2});
  m.node("Bernoulli", {"x"}, {"a"}, "first");
  set_int(m.node("Relu", {"a"}, {"y"}, "second"), "strength", 11);
  m.output("a", {2, 2});
  m.output("y");
  expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "first", "`Bernoulli`"},
                              {Code::kUnsupportedOnnxNode, "second", "attribute `strength`"}});
}

// Without that type too, as far as attributes are concerned: whatever the inputs are.
TEST(BadGraph, AttributesBehindAnUnknownOperator) {
  TestModel m;
  m.input("x", {2, 2});
  m.node("NoSuch", {"x"}, {"a"}, "first");
  set_int(m.node("Relu", {"a"}, {"b"}, "second"), "strength", 11);
  set_string(m.node("Softmax", {"b"}, {"c"}, "third"), "axis", "last");
  set_int(m.node("Softmax", {"c"}, {"d"}, "sound"), "axis", 3);  // of an input of rank 4, why not
  m.node("MaxPool", {"d"}, {"y"}, "fourth")->set_doc_string("no kernel_shape");
  set_ints(m.proto.mutable_graph()->mutable_node(4), "strides", {1, 1});
  m.output("y");
  expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "first", "`NoSuch`"},
                              {Code::kUnsupportedOnnxNode, "second", "attribute `strength`"},
                              {Code::kWrongAttribute, "third", "`axis` must be INT"},
                              {Code::kWrongAttribute, "fourth", "`kernel_shape` is missing"}});
}

// What callers see is what is computed; onnxruntime takes such a model with a warning, too.
TEST(BadGraph, DeclaredShapesOfOutputsAreOnlyWarnedOf) {
  TestModel m;
  m.input("x", {2, 3});
  for (const char* name : {"a", "b", "c"}) m.node("Relu", {"x"}, {name}, name);
  m.output("a", {2, 4});
  m.output("b", {6});
  m.output("c", {2, 3});
  const auto module = m.import();
  ASSERT_TRUE(module) << render(module.error());
  ASSERT_EQ(module->warnings.size(), 2u);
  expect_diagnostic(module->warnings[0],
                    {Code::kShapeMismatch, "node `a`", "declared with the shape (2, 4)"});
  expect_diagnostic(module->warnings[1],
                    {Code::kShapeMismatch, "node `b`", "declared with the shape (6)"});
  const relay::Function& main = module->functions.at("main");
  EXPECT_EQ(to_string(main.type(main.result())),
            "(Tensor[(2, 3), float32], Tensor[(2, 3), float32], Tensor[(2, 3), float32])");

  m.proto.mutable_graph()->mutable_output(2)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::INT64);
  expect_refused(m.import(), {{Code::kDtypeMismatch, "node `c`", "declared as INT64"}});
}

// A statement about a value settles what data decide, unless it cannot be true.
TEST(BadGraph, WrongStatementsAboutValuesRefuseNothing) {
  TestModel m;
  m.input("x", {2, 3});
  m.input("to", {2}, onnx::TensorProto::INT64);
  m.input("indices", {4}, onnx::TensorProto::INT64);
  m.ints("depth", {5})->clear_dims();
  m.floats("values", {2}, {0, 1});
  m.node("Reshape", {"x", "to"}, {"r"}, "reshape");
  m.node("OneHot", {"indices", "depth", "values"}, {"o"}, "hot");
  m.output("r", {4, 2});
  m.output("o", {4, 5, 1});
  const auto module = m.import();
  ASSERT_TRUE(module) << render(module.error());
  const relay::Function& main = module->functions.at("main");
  EXPECT_EQ(to_string(main.type(main.result())),
            "(Tensor[(?, ?), float32], Tensor[(4, 5), float32])");
  ASSERT_FALSE(module->warnings.empty());
  expect_diagnostic(module->warnings[0],
                    {Code::kShapeMismatch, "node `hot`", "2 dimensions, declared are 3"});
}

// As exporters leave weights that they fused a normalisation into, in a model of 16 bits.
TEST(BadGraph, WeightsOfAnotherFloatAreConverted) {
  struct Case {
    const char* op;
    std::vector<std::int64_t> x, w;
  };
  for (const Case& c :
       {Case{"Conv", {1, 2, 5, 5}, {3, 2, 3, 3}}, Case{"ConvTranspose", {1, 2, 5, 5}, {2, 3, 3, 3}},
        Case{"Gemm", {4, 2}, {2, 3}}}) {
    TestModel m;
    m.input("x", c.x, onnx::TensorProto::BFLOAT16);
    m.input("w", c.w);
    m.input("b", {3});
    m.node(c.op, {"x", "w", "b"}, {"y"}, "fused");
    m.output("y");
    const auto module = m.import();
    ASSERT_TRUE(module) << render(module.error());
    const relay::Function& main = module->functions.at("main");
    EXPECT_EQ(main.type(main.result()).dtype(), kBFloat16) << c.op;
    ASSERT_EQ(module->warnings.size(), 2u);
    expect_diagnostic(module->warnings[0], {Code::kUnsupportedOnnxNode, "node `fused`",
                                            "its input 1 is of float32, and its data are of "
                                            "bfloat16"});
    m.proto.mutable_graph()->mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(
        onnx::TensorProto::INT8);
    EXPECT_FALSE(m.import()) << c.op;
  }
}

TEST(BadGraph, Unsorted) {
  TestModel m;
  m.input("x", {2});
  m.node("Relu", {"a"}, {"y"}, "late");
  m.node("Abs", {"x"}, {"a"}, "early");
  m.output("y");
  expect_refused(m.import(), {{Code::kBadOnnxGraph, "late", "`a` is used before it is defined"}});
}

TEST(BadGraph, Cycle) {
  TestModel m;
  m.node("Relu", {"b"}, {"a"}, "one");
  m.node("Abs", {"a"}, {"b"}, "two");
  m.output("a");
  expect_refused(m.import(), {{Code::kBadOnnxGraph, "one", "cyclic or not sorted"}});
}

TEST(BadGraph, DefinedTwice) {
  TestModel m = relu_model();
  m.node("Abs", {"x"}, {"y"}, "again");
  expect_refused(m.import(), {{Code::kBadOnnxGraph, "again", "`y` is defined twice"}});
}

TEST(BadGraph, OutputWithoutDefinition) {
  TestModel m = relu_model();
  m.output("z");
  expect_refused(m.import(), {{Code::kBadOnnxGraph, "z", "output `z` is not defined"}});
}

TEST(BadGraph, NoOutputs) {
  TestModel m;
  m.input("x", {1});
  expect_refused(m.import(), {{Code::kBadOnnxGraph, "", "has no outputs"}});
}

TEST(BadGraph, ShapesDoNotAgree) {
  TestModel m;
  m.input("x", {2, 3});
  m.input("w", {4, 5});
  m.node("MatMul", {"x", "w"}, {"y"}, "/encoder/MatMul");
  m.output("y");
  const auto result = m.import();
  ASSERT_FALSE(result);
  expect_diagnostic(result.error().list[0], {Code::kShapeMismatch, "/encoder/MatMul", "3"});
}

TEST(BadGraph, TypesDoNotAgree) {
  TestModel m;
  m.input("x", {2});
  m.input("i", {2}, onnx::TensorProto::INT64);
  m.node("Add", {"x", "i"}, {"y"}, "sum");
  m.output("y");
  const auto result = m.import();
  ASSERT_FALSE(result);
  expect_diagnostic(result.error().list[0], {Code::kDtypeMismatch, "sum", "int64"});
}

TEST(BadGraph, WrongNumberOfInputs) {
  TestModel m = relu_model();
  m.proto.mutable_graph()->mutable_node(0)->add_input("x");
  m.node("Add", {"x"}, {"z"}, "lonely");
  const auto result = m.import();
  ASSERT_FALSE(result);
  ASSERT_EQ(result.error().list.size(), 2u);
  expect_diagnostic(result.error().list[0], {Code::kWrongArity, "act", "takes 1 operands; 2"});
  expect_diagnostic(result.error().list[1], {Code::kWrongArity, "lonely", "input 1 is not given"});
}

// ---- Attributes ----

TEST(BadAttribute, WrongType) {
  TestModel m;
  m.input("x", {2, 3});
  set_string(m.node("Softmax", {"x"}, {"y"}, "s"), "axis", "last");
  m.output("y");
  expect_refused(m.import(),
                 {{Code::kWrongAttribute, "s", "attribute `axis` must be INT; it is STRING"}});
}

TEST(BadAttribute, OutOfRange) {
  TestModel m;
  m.input("x", {2, 3});
  set_int(m.node("Softmax", {"x"}, {"y"}, "s"), "axis", 2);
  m.output("y");
  expect_refused(m.import(), {{Code::kWrongAttribute, "s", "axis 2 lies outside of the 2"}});
}

TEST(BadAttribute, Unknown) {
  TestModel m(13);
  m.input("x", {2, 3});
  set_int(m.node("Relu", {"x"}, {"y"}, "act"), "slope", 2);
  m.output("y");
  expect_refused(m.import(),
                 {{Code::kUnsupportedOnnxNode, "act",
                   "operator `Relu` of ai.onnx opset 13: the attribute `slope` is not supported"}});
}

TEST(BadAttribute, Missing) {
  TestModel m;
  m.input("x", {1, 1, 4, 4});
  m.node("MaxPool", {"x"}, {"y"}, "pool");
  m.node("Cast", {"x"}, {"z"}, "cast");
  m.output("y");
  expect_refused(m.import(), {{Code::kWrongAttribute, "pool", "`kernel_shape` is missing"},
                              {Code::kWrongAttribute, "cast", "`to` is missing"}});
}

TEST(BadAttribute, ZeroStride) {
  TestModel m;
  m.input("x", {1, 1, 4, 4});
  auto* pool = m.node("MaxPool", {"x"}, {"y"}, "pool");
  set_ints(pool, "kernel_shape", {2, 2});
  set_ints(pool, "strides", {0, 1});
  m.output("y");
  expect_refused(m.import(), {{Code::kWrongAttribute, "pool", "must be 1 or more"}});
}

// ---- Sizes ----

TEST(BadSize, NegativeInput) {
  TestModel m;
  m.input("x", {-1, 3});
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  expect_refused(m.import(), {{Code::kBadDimension, "node `x`", "negative size -1"}});
}

TEST(BadSize, InputOverflows) {
  TestModel m;
  m.input("x", {std::int64_t{1} << 40, std::int64_t{1} << 40});
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  const auto result = m.import();
  ASSERT_FALSE(result);
  expect_diagnostic(result.error().list[0], {Code::kBadDimension, "node `x`", "overflows 64 bits"});
}

TEST(BadSize, ResultOverflows) {
  TestModel m;
  m.input("x", {std::int64_t{1} << 30, 1});
  m.input("w", {1, std::int64_t{1} << 33});
  m.node("Add", {"x", "w"}, {"y"}, "outer");
  m.output("y");
  expect_refused(m.import(), {{Code::kBadDimension, "outer", "overflows 64 bits"}});
}

TEST(BadSize, ReshapeToNegative) {
  TestModel m;
  m.input("x", {6});
  m.ints("shape", {-2, 3});
  m.node("Reshape", {"x", "shape"}, {"y"}, "r");
  m.output("y");
  expect_refused(m.import(), {{Code::kBadDimension, "r", "size -2"}});
}

TEST(BadSize, UnknownSymbol) {
  ImportOptions options;
  options.sizes["sequence"] = 7;
  expect_refused(relu_model().import(options),
                 {{Code::kBadOption, "", "no symbolic dimension `sequence`"}});
}

}  // namespace
}  // namespace tessera::import
