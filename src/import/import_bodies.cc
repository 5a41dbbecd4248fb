// SPDX-License-Identifier: Apache-2.0
// Nodes that stand for a body of other nodes, which takes their place.
#include "import/graph_importer.h"

namespace tessera::import {
namespace {

using AttributeMap = std::map<std::string, const onnx::AttributeProto*>;

// The function's attributes: those of the call, else the defaults.
AttributeMap attributes_of(const onnx::NodeProto& call, const onnx::FunctionProto& f) {
  AttributeMap attributes;
  for (const auto& a : f.attribute_proto()) attributes[a.name()] = &a;
  for (const auto& a : call.attribute()) attributes[a.name()] = &a;
  return attributes;
}

// The node with the attributes that it takes from the function's; one that was not given is left
// out.
onnx::NodeProto with_attributes(const onnx::NodeProto& node, const AttributeMap& attributes) {
  onnx::NodeProto bound = node;
  bound.clear_attribute();
  for (const auto& a : node.attribute()) {
    if (a.ref_attr_name().empty()) {
      *bound.add_attribute() = a;
    } else if (const auto it = attributes.find(a.ref_attr_name()); it != attributes.end()) {
      onnx::AttributeProto* copy = bound.add_attribute();
      *copy = *it->second;
      copy->set_name(a.name());
    }
  }
  return bound;
}

void check_may_be_sequence(const Location& at, const void* sequences) {
  if (sequences != nullptr) return;
  throw NodeError{error(Code::kUnsupportedOnnxNode, at,
                        "a loop or a branch that is chosen at run time gives a sequence, which is "
                        "not supported")
                      .with_remedy("give its tensors as results")};
}

}  // namespace

std::vector<NodeId> GraphImporter::inline_function(const onnx::NodeProto& call,
                                                   const onnx::FunctionProto& f) {
  const Location at = location_of(call);
  // Functions may not be recursive; without a limit a damaged model would be.
  if (depth_ >= builder_.limits().depth) {
    throw NodeError{limit_exceeded(at, "depth", builder_.limits().depth,
                                   fmt::format("function `{}`, within others or itself,", f.name()),
                                   depth_ + 1)};
  }
  Scope body;
  body.opset = default_opset(f.opset_import());
  body.other_opsets = other_opsets(f.opset_import());
  body.place = std::get<ModelNode>(at->place).node + "/";
  for (int i = 0; i < std::min(call.input_size(), f.input_size()); ++i) {
    if (call.input(i).empty()) continue;
    if (const NodeId* value = scope_->find(call.input(i))) {
      body.values.emplace(f.input(i), *value);
      if (const int narrow = scope_->narrow_type(call.input(i))) body.narrow[f.input(i)] = narrow;
    } else {
      body.failed.insert(f.input(i));
    }
  }
  const AttributeMap attributes = attributes_of(call, f);
  Scope* caller = std::exchange(scope_, &body);
  ++depth_;
  for (const auto& node : f.node()) {
    if (!gave_up_) import_node(with_attributes(node, attributes));
  }
  --depth_;
  scope_ = caller;
  if (gave_up_) return {};
  Sequences sequences;
  std::vector<NodeId> results = results_of(body, f.output(), &sequences);
  define_sequences(call, sequences);
  return results;
}

// What they read of the node counts as failed.
void GraphImporter::look_into_bodies(const onnx::NodeProto& node) {
  if (const onnx::FunctionProto* f = model_.function(node)) inline_function(node, *f);
  for (const auto& a : node.attribute()) {
    if (!a.has_g()) continue;
    Scope body = scope_->inner(std::get<ModelNode>(location_of(node)->place).node);
    body.outer = scope_;
    for (const auto& input : a.g().input()) body.failed.insert(input.name());
    import_nodes_of(a.g(), body);
  }
}

// The body's results; none, without a further message, after the first that is missing.
template <class Names>
std::vector<NodeId> GraphImporter::results_of(Scope& body, const Names& outputs,
                                              Sequences* sequences) {
  std::vector<NodeId> results;
  for (const std::string& name : outputs) {
    const NodeId* value = body.find(name);
    if (const Sequence* s = body.find_sequence(name)) {
      check_may_be_sequence(model_node_location(model_.path(), body.place + name), sequences);
      sequences->emplace(results.size(), *s);
      results.emplace_back();
      continue;
    }
    if (value == nullptr) {
      if (body.has_failed(name)) return results;
      throw NodeError{error(Code::kBadOnnxGraph,
                            model_node_location(model_.path(), body.place + name),
                            "output `{}` of a function or branch is not defined", name)};
    }
    if (const int narrow = body.narrow_type(name)) {
      throw NodeError{error(Code::kUnsupportedOnnxNode,
                            model_node_location(model_.path(), body.place + name),
                            "output `{}` of a function or branch is of the data type {}, which is "
                            "not supported",
                            name, onnx_dtype_name(narrow))
                          .with_remedy("give it another type, and cast it outside")};
    }
    results.push_back(*value);
  }
  return results;
}

void GraphImporter::import_nodes_of(const onnx::GraphProto& graph, Scope& body) {
  Scope* around = std::exchange(scope_, &body);
  import_initializers(graph);
  import_nodes(graph.node());
  scope_ = around;
}

std::vector<NodeId> GraphImporter::import_graph(const onnx::GraphProto& graph, Scope& body,
                                                Sequences* sequences) {
  import_nodes_of(graph, body);
  return results_of_graph(graph, body, sequences);
}

std::vector<NodeId> GraphImporter::results_of_graph(const onnx::GraphProto& graph, Scope& body,
                                                    Sequences* sequences) {
  std::vector<std::string> outputs;
  for (const auto& output : graph.output()) outputs.push_back(output.name());
  return results_of(body, outputs, sequences);
}

}  // namespace tessera::import
