// SPDX-License-Identifier: Apache-2.0
// One ONNX graph as a function: names, order, types, and what could not be converted.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/call_builder.h"
#include "import/import_options.h"
#include "import/node.h"
#include "import/onnx_model.h"
#include "import/scope.h"
#include "module/module.h"

namespace tessera::import {

class GraphImporter {
 public:
  GraphImporter(const OnnxModel& model, const ImportOptions& options);

  // The module with `main`; all errors of the graph together.
  Result<Module> run();

 private:
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

  // ---- Inputs (import_inputs.cc) ----
  void import_symbols();
  void import_initializers(const onnx::GraphProto& graph);
  void import_inputs();
  void import_input(const onnx::ValueInfoProto& value);
  Dim import_dim(const onnx::TensorShapeProto::Dimension& dim, const std::string& input);
  Dim fresh_symbol(const std::string& hint);
  void read_declarations();

  // ---- Nodes ----
  void import_nodes(const Nodes& nodes);
  void import_node(const onnx::NodeProto& node);
  void report_unknown(const onnx::NodeProto& node, const Location& at);
  bool is_known(const onnx::NodeProto& node) const;
  bool check_inputs(const onnx::NodeProto& node);
  std::vector<NodeId> convert(const onnx::NodeProto& node);
  std::vector<NodeId> convert_operator(const onnx::NodeProto& node);
  void define_outputs(const onnx::NodeProto& node, const std::vector<NodeId>& outputs);
  void define(const std::string& name, NodeId id, const Location& at);
  NodeId import_outputs(std::vector<relay::AttrValue>& names);
  Location location_of(const onnx::NodeProto& node) const;

  // ---- Bodies in place of a node (import_bodies.cc) ----
  // A call of a function of the model: its body.
  std::vector<NodeId> inline_function(const onnx::NodeProto& call, const onnx::FunctionProto& f);
  // `If` whose condition is known: the branch taken.
  std::vector<NodeId> inline_branch(const onnx::NodeProto& node);
  template <class Names>
  std::vector<NodeId> results_of(Scope& body, const Names& outputs);

  const OnnxModel& model_;
  const ImportOptions& options_;
  CallBuilder builder_;
  SymbolTable symbols_;
  Scope main_;
  Scope* scope_ = &main_;
  int depth_ = 0;  // of bodies in place of nodes
  Diagnostics errors_;
};

}  // namespace tessera::import
