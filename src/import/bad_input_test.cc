// SPDX-License-Identifier: Apache-2.0
// Models that cannot be imported: each is refused with a code, a place, the finding and a remedy.
#include <gtest/gtest.h>

#include "import/testing/model.h"

namespace tessera::import {
namespace {

struct Refusal {
  Code code;
  std::string place;    // part of the location's text; "" for the file as a whole
  std::string finding;  // part of the message
};

void expect_diagnostic(const Diagnostic& d, const Refusal& r) {
  EXPECT_EQ(code_text(d.code), code_text(r.code)) << d.message;
  EXPECT_NE(d.message.find(r.finding), std::string::npos) << d.message;
  EXPECT_NE(to_string(d.location).find(r.place), std::string::npos) << to_string(d.location);
  EXPECT_EQ(to_string(d.location).empty(), r.place.empty()) << to_string(d.location);
}

void expect_refused(const Result<Module>& result, const std::vector<Refusal>& refusals) {
  ASSERT_FALSE(result);
  const auto& list = result.error().list;
  ASSERT_EQ(list.size(), refusals.size()) << render(result.error());
  for (std::size_t i = 0; i < refusals.size(); ++i) {
    expect_diagnostic(list[i], refusals[i]);
    EXPECT_FALSE(list[i].remedy.empty()) << list[i].message;
  }
}

// y = Relu(x), of which tests spoil a part.
TestModel relu_model(int opset = 17) {
  TestModel m(opset);
  m.input("x", {2, 3});
  m.node("Relu", {"x"}, {"y"}, "act");
  m.output("y");
  return m;
}

// ---- Files ----

TEST(BadFile, Missing) {
  const TestModel m;
  expect_refused(import_onnx(m.file("none.onnx")),
                 {{Code::kFileNotFound, "", "none.onnx` does not exist"}});
}

TEST(BadFile, Folder) {
  const TestModel m;
  expect_refused(import_onnx(m.file("")), {{Code::kFileNotFound, "", "is a folder"}});
}

TEST(BadFile, Empty) {
  const TestModel m;
  expect_refused(import_onnx(m.write_bytes("e.onnx", "")), {{Code::kFileEmpty, "", "is empty"}});
}

TEST(BadFile, AnotherFormat) {
  const TestModel m;
  for (const std::string bytes : {"PK\x03\x04 this is a zip file", "\x89PNG\r\n", "{\"a\": 1}",
                                  "#[version = \"0.0.5\"]\ndef @main() { 1 }"}) {
    expect_refused(import_onnx(m.write_bytes("m.onnx", bytes)),
                   {{Code::kNotOnnx, "", "is not an ONNX model"}});
  }
}

// No beginning of a model is a model, wherever it was cut.
TEST(BadFile, TruncatedAnywhere) {
  TestModel m = relu_model();
  m.floats("w", {100}, std::vector<float>(100, 1));
  const std::string whole = m.proto.SerializeAsString();
  for (std::size_t size = 1; size < whole.size(); size += 7) {
    const auto result = import_onnx(m.write_bytes("m.onnx", whole.substr(0, size)));
    EXPECT_FALSE(result) << size;
  }
  const auto cut = import_onnx(m.write_bytes("m.onnx", whole.substr(0, whole.size() / 2)));
  expect_refused(cut, {{Code::kNotOnnx, "", "truncated"}});
}

TEST(BadFile, NewerOpset) {
  expect_refused(relu_model(22).import(),
                 {{Code::kUnsupportedOnnxNode, "", "is of opset 22; opsets up to 21"}});
}

// ---- Loops ----

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

TEST(BadFile, GraphsWithinEachOther) {
  TestModel m = relu_model();
  onnx::GraphProto* graph = m.proto.mutable_graph();
  for (int i = 0; i < 250; ++i) {
    auto* branch = graph->add_node()->add_attribute();
    branch->set_name("then_branch");
    branch->set_type(onnx::AttributeProto::GRAPH);
    graph = branch->mutable_g();
  }
  expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "", "200 graphs within each other"}});
}

// ---- Tensors ----

TEST(BadTensor, NegativeSize) {
  TestModel m = relu_model();
  m.floats("w", {2, -1}, {1, 2});
  expect_refused(m.import(), {{Code::kBadDimension, "node `w`", "negative size -1"}});
}

TEST(BadTensor, SizeOverflow) {
  TestModel m = relu_model();
  m.floats("w", {std::int64_t{1} << 40, std::int64_t{1} << 40}, {1});
  expect_refused(m.import(), {{Code::kBadDimension, "node `w`", "overflows"}});
}

TEST(BadTensor, DataDoNotFit) {
  TestModel m = relu_model();
  m.floats("short", {4}, {1, 2});
  m.floats("long", {1}, std::vector<float>(100, 0));
  expect_refused(m.import(), {{Code::kBadOnnxTensor, "node `short`",
                               "8 bytes of data where its "
                               "shape and type need 16"},
                              {Code::kBadOnnxTensor, "node `long`", "400 bytes"}});
}

TEST(BadTensor, DataInTheFieldOfAnotherType) {
  TestModel m = relu_model();
  auto* t = m.floats("w", {2}, {});
  t->clear_raw_data();
  t->add_int64_data(1);
  t->add_int64_data(2);
  expect_refused(m.import(), {{Code::kBadOnnxTensor, "node `w`", "0 bytes"}});
}

TEST(BadTensor, TypeWithoutNumbers) {
  TestModel m = relu_model();
  m.floats("w", {1}, {1})->set_data_type(onnx::TensorProto::FLOAT8E4M3FN);
  m.floats("v", {1}, {1})->set_data_type(onnx::TensorProto::STRING);
  expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "node `w`", "FLOAT8E4M3FN"},
                              {Code::kUnsupportedOnnxNode, "node `v`", "STRING"}});
}

// A reference that our reader writes into doc_string must not be taken from the file.
TEST(BadTensor, ForgedReference) {
  TestModel m = relu_model();
  m.floats("w", {1}, {1})->set_doc_string("raw:7");
  EXPECT_TRUE(m.import());
}

TEST(ExternalData, IsRead) {
  TestModel m = relu_model();
  const float values[] = {9, 1, 2, 3};
  m.write_bytes("w.bin", std::string(reinterpret_cast<const char*>(values), sizeof values));
  m.external("w", 3, "w.bin", "4");
  m.proto.mutable_graph()->mutable_node(0)->set_op_type("Add");
  m.proto.mutable_graph()->mutable_node(0)->add_input("w");
  const auto module = m.import();
  ASSERT_TRUE(module) << render(module.error());
  ASSERT_EQ(module->constants.size(), 1u);
  EXPECT_EQ(module->constants.tensors()[0], Tensor::of<float>({3}, kFloat32, {1, 2, 3}));
}

TEST(ExternalData, Missing) {
  TestModel m = relu_model();
  m.external("w", 3, "none.bin");
  expect_refused(m.import(),
                 {{Code::kExternalData, "node `w`", "none.bin`, which cannot be read"}});
}

TEST(ExternalData, Short) {
  TestModel m = relu_model();
  m.write_bytes("w.bin", "12345678");
  m.external("w", 3, "w.bin");
  m.external("v", 1, "w.bin", "6");
  m.external("u", 1, "w.bin", "99999999999");
  expect_refused(m.import(), {{Code::kExternalData, "node `w`", "needs 12 bytes at 0"},
                              {Code::kExternalData, "node `v`", "needs 4 bytes at 6"},
                              {Code::kExternalData, "node `u`", "at 99999999999"}});
}

TEST(ExternalData, OutsideOfTheFolder) {
  TestModel m = relu_model();
  m.external("a", 1, "../secret.bin");
  m.external("b", 1, "/etc/passwd");
  m.external("c", 1, "sub/../../secret.bin");
  expect_refused(m.import(), {{Code::kExternalData, "node `a`", "leads out of the model's folder"},
                              {Code::kExternalData, "node `b`", "leads out"},
                              {Code::kExternalData, "node `c`", "leads out"}});
}

TEST(ExternalData, NoNumbers) {
  TestModel m = relu_model();
  m.external("a", 1, "w.bin", "-4");
  m.external("b", 1, "");
  expect_refused(m.import(), {{Code::kExternalData, "node `a`", "no number"},
                              {Code::kExternalData, "node `b`", "missing"}});
}

// ---- Graphs ----

TEST(BadGraph, EveryUnsupportedNodeIsListed) {
  TestModel m(13);
  m.input("x", {2, 2});
  m.node("NoSuchOperator", {"x"}, {"a"}, "first");
  m.node("Unique", {"a"}, {"b"}, "second");  // behind a failed one
  m.node("FusedGelu", {"x"}, {"c"}, "third")->set_domain("com.example");
  set_string(m.node("Gemm", {"x", "x"}, {"d"}, "fourth"), "colour", "red");
  m.node("Relu", {"b"}, {"y"}, "fifth");
  m.output("y");
  m.output("d");
  expect_refused(m.import(),
                 {{Code::kUnsupportedOnnxNode, "first", "`NoSuchOperator` of ai.onnx opset 13"},
                  {Code::kUnsupportedOnnxNode, "second", "`Unique` of ai.onnx opset 13"},
                  {Code::kUnsupportedOnnxNode, "third", "`FusedGelu` of com.example"},
                  {Code::kUnsupportedOnnxNode, "fourth", "the attribute `colour`"}});
}

// What a failed node was to give has the type that the model states: the nodes behind are checked.
TEST(BadGraph, NodesBehindAFailedOne) {
  TestModel m;
  m.input("x", {2, 2});
  m.node("Unique", {"x"}, {"a"}, "first");
  set_int(m.node("Relu", {"a"}, {"y"}, "second"), "strength", 11);
  m.output("a", {2, 2});
  m.output("y");
  expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "first", "`Unique`"},
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

TEST(BadGraph, DeclarationsOfOutputsHold) {
  TestModel m;
  m.input("x", {2, 3});
  for (const char* name : {"a", "b", "c"}) m.node("Relu", {"x"}, {name}, name);
  m.output("a", {2, 4});
  m.output("b", {6});
  m.output("c", {2, 3});
  m.proto.mutable_graph()->mutable_output(2)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::INT64);
  expect_refused(m.import(), {{Code::kShapeMismatch, "node `a`", "declared with the shape (2, 4)"},
                              {Code::kShapeMismatch, "node `b`", "declared with the shape (6)"},
                              {Code::kDtypeMismatch, "node `c`", "declared as INT64"}});
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

// ---- Functions ----

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
  expect_refused(m.import(), {{Code::kBadOnnxGraph, "call/inner", "calls itself"}});
}

}  // namespace
}  // namespace tessera::import
