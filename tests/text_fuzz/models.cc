// SPDX-License-Identifier: Apache-2.0
#include "tests/text_fuzz/models.h"

#include <fmt/format.h>

#include "import/testing/model.h"
#include "support/quoted_text.h"

namespace tessera::text_fuzz {
namespace {

using import::TestModel;

void describe(onnx::ModelProto& model, const Names& n) {
  model.set_producer_name(n[0]);
  model.set_producer_version(n[1]);
  model.set_domain(n[2]);
  model.set_doc_string(n[3]);
  auto* entry = model.add_metadata_props();
  entry->set_key(n[4]);
  entry->set_value(n[5]);
  model.mutable_graph()->set_name(n[6]);
  model.mutable_graph()->set_doc_string(n[7]);
}

FuzzModel made(TestModel& m) { return {"model.onnx", m.proto.SerializeAsString(), {}}; }

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(0.25f * static_cast<float>(i % 7) - 0.5f);
  return values;
}

// A function of the model: relu(x) + x.
void add_function(TestModel& m, const Names& n) {
  auto* domain = m.proto.add_opset_import();
  domain->set_domain(n[20]);
  domain->set_version(1);
  auto* f = m.proto.add_functions();
  f->set_domain(n[20]);
  f->set_name(n[21]);
  f->set_doc_string(n[22]);
  f->add_input(n[23]);
  f->add_output(n[24]);
  f->add_opset_import()->set_version(17);
  TestModel::fill(f->add_node(), "Relu", {n[23]}, {n[25]}, n[26]);
  TestModel::fill(f->add_node(), "Add", {n[25], n[23]}, {n[24]}, n[27]);
  auto* value = f->add_value_info();
  value->set_name(n[25]);
  value->set_doc_string(n[34]);
}

FuzzModel products(const Names& n) {
  TestModel m;
  describe(m.proto, n);
  m.input(n[8], {2, 8});
  m.proto.mutable_graph()->mutable_input(0)->set_doc_string(n[9]);
  m.floats(n[10], {8, 16}, ramp(128))->set_doc_string(n[11]);
  m.floats(n[12], {16}, ramp(16));
  m.node("MatMul", {n[8], n[10]}, {n[13]}, n[14])->set_doc_string(n[15]);
  m.node("Add", {n[13], n[12]}, {n[16]}, n[17]);
  add_function(m, n);
  m.node(n[21], {n[16]}, {n[28]}, n[29])->set_domain(n[20]);
  m.node("Softmax", {n[28]}, {n[30]}, n[31]);
  m.node("Exp", {n[13]}, {n[32]}, "");
  m.output(n[30]);
  m.output(n[32]);
  auto* value = m.proto.mutable_graph()->add_value_info();
  value->set_name(n[13]);
  value->set_doc_string(n[33]);
  FuzzModel out = made(m);
  out.kept = {n[12]};
  return out;
}

void open_size(onnx::GraphProto* graph, int input, int dim, const std::string& name) {
  graph->mutable_input(input)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(dim)
      ->set_dim_param(name);
}

FuzzModel sizes(const Names& n) {
  TestModel m;
  describe(m.proto, n);
  m.input(n[8], {1, 8});
  m.input(n[9], {1, 8});
  // No expressions, which `'` has no place in, and two sizes whatever is made of the names, in an
  // order: sums have it.
  open_size(m.proto.mutable_graph(), 0, 0, "a'" + n[10]);
  open_size(m.proto.mutable_graph(), 1, 0, "b'" + n[11]);
  m.node("Concat", {n[8], n[9]}, {n[12]}, n[13]);
  import::set_int(m.proto.mutable_graph()->mutable_node(0), "axis", 0);
  m.ints(n[14], {0, 1});
  m.node("Gather", {n[12], n[14]}, {n[15]}, n[16]);
  m.node("Shape", {n[12]}, {n[17]}, n[18]);
  m.node("NonZero", {n[8]}, {n[19]}, n[20]);
  m.node("Mul", {n[15], n[15]}, {n[21]}, n[22]);
  for (const int i : {12, 17, 19, 21}) m.output(n[static_cast<std::size_t>(i)]);
  return made(m);
}

onnx::GraphProto* body(onnx::NodeProto* node, const char* attribute, const std::string& name) {
  auto* graph = import::add_attribute(node, attribute, onnx::AttributeProto::GRAPH)->mutable_g();
  graph->set_name(name);
  return graph;
}

FuzzModel branches(const Names& n) {
  TestModel m;
  describe(m.proto, n);
  m.input(n[8], {4});
  m.input(n[9], {}, onnx::TensorProto::BOOL);
  auto* choice = m.node("If", {n[9]}, {n[10]}, n[11]);
  auto* yes = body(choice, "then_branch", n[12]);
  TestModel::fill(yes->add_node(), "Exp", {n[8]}, {n[13]}, n[14]);
  yes->add_output()->set_name(n[13]);
  auto* no = body(choice, "else_branch", n[15]);
  TestModel::fill(no->add_node(), "Neg", {n[8]}, {n[16]}, n[17]);
  no->add_output()->set_name(n[16]);
  m.node("Abs", {n[10]}, {n[18]}, n[19]);
  m.output(n[18]);
  m.output(n[10]);
  return made(m);
}

// Bodies that run many times, and text beside types and nodes that nothing is made of. What is as
// large as the results of loops has names after theirs: values of one size are laid out by name.
FuzzModel bodies(const Names& n) {
  TestModel m;
  describe(m.proto, n);
  m.input(n[8], {3, 4});
  m.input(n[9], {}, onnx::TensorProto::INT64);
  m.input(n[10], {}, onnx::TensorProto::BOOL);
  const std::string rows = "m" + n[13], state = "m" + n[24];
  auto* type = m.proto.mutable_graph()->mutable_input(0)->mutable_type();
  type->set_denotation(n[11]);
  type->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_denotation(n[12]);
  auto* scan = m.node("Scan", {n[8]}, {rows}, n[14]);
  import::set_int(scan, "num_scan_inputs", 1);
  auto* row = body(scan, "body", n[15]);
  TestModel::describe(row->add_input(), n[16], {4}, onnx::TensorProto::FLOAT);
  TestModel::fill(row->add_node(), "Exp", {n[16]}, {n[17]}, n[18]);
  row->add_output()->set_name(n[17]);
  auto* loop = m.node("Loop", {n[9], n[10], rows}, {n[19]}, n[20]);
  auto* step = body(loop, "body", n[21]);
  TestModel::describe(step->add_input(), n[22], {}, onnx::TensorProto::INT64);
  TestModel::describe(step->add_input(), n[23], {}, onnx::TensorProto::BOOL);
  TestModel::describe(step->add_input(), state, {3, 4}, onnx::TensorProto::FLOAT);
  TestModel::fill(step->add_node(), "Tanh", {state}, {n[25]}, n[26]);
  step->add_output()->set_name(n[23]);
  step->add_output()->set_name(n[25]);
  auto* entry = loop->add_metadata_props();
  entry->set_key(n[27]);
  entry->set_value(n[28]);
  m.output(n[19]);
  return made(m);
}

// Names of functions, composites, compilers, attributes' strings; those of locals are words there.
FuzzModel relay(const Names& n) {
  const auto text = [&](int i) { return quoted(n[static_cast<std::size_t>(i)]); };
  // After `main`, since sources have their functions in the order of their names.
  const auto symbol = [&](int i) { return quoted("n" + n[static_cast<std::size_t>(i)]); };
  const auto global = [&](int i) { return "@" + symbol(i); };
  const std::string type = "Tensor[(4), float32]";
  std::string out = "#[version = \"0.0.5\"]\n";
  out += fmt::format("def @main(%x: {}) {{\n  %0 = {}(%x);\n  %1 = {}(%0);\n  %2 = {}(%1);\n", type,
                     global(0), global(1), global(2));
  out += fmt::format("  %3 = fn (%a: {}, Composite={}, name={}) {{ exp(%a) }};\n", type, text(3),
                     text(4));
  out += "  abs(%3(%2))\n}\n";
  const auto function = [&](int i, const std::string& compiler, const std::string& operation) {
    out += fmt::format(
        "def {}(%y: {}, Compiler={}, Primitive=1, global_symbol={}, note={}) {{ {} }}\n", global(i),
        type, compiler, symbol(i), text(i + 10), operation);
  };
  function(0, "\"ccompiler\"", "add(%y, %y)");
  function(1, "\"example_target_hook\"", "nn.relu(%y)");
  function(2, text(5), "sqrt(%y)");
  return {"model.relay", out, {}};
}

}  // namespace

const std::vector<ModelKind>& model_kinds() {
  static const std::vector<ModelKind> kinds = {{"products", products},
                                               {"sizes", sizes},
                                               {"branches", branches},
                                               {"bodies", bodies},
                                               {"relay", relay}};
  return kinds;
}

}  // namespace tessera::text_fuzz
