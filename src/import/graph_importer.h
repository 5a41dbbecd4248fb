// SPDX-License-Identifier: Apache-2.0
// One ONNX graph as a function: names, order, types, and what could not be converted.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/import_options.h"
#include "import/node.h"
#include "module/module.h"

namespace tessera::import {

class GraphImporter {
 public:
  GraphImporter(const OnnxModel& model, const ImportOptions& options);

  // The module with `main`; all errors of the graph together.
  Result<Module> run();

  // ---- For Node ----
  relay::FunctionBuilder& builder() { return builder_; }
  const OnnxModel& model() const { return model_; }
  const NodeId* find_value(const std::string& name) const;
  const ConstantPool& constants() const { return constants_; }
  const Tensor* constant_of(NodeId id) const;
  NodeId add_constant(Tensor tensor);
  NodeId add_call(const relay::Operator& op, std::span<const NodeId> args, Attrs attrs,
                  const Location& at);

 private:
  void import_symbols();
  void import_initializers();
  void import_inputs();
  void import_input(const onnx::ValueInfoProto& value);
  Dim import_dim(const onnx::TensorShapeProto::Dimension& dim, const std::string& input);
  void import_nodes();
  void import_node(const onnx::NodeProto& node);
  std::vector<NodeId> convert(const onnx::NodeProto& proto, Node& node);
  void define(const std::string& name, NodeId id, const Location& at);
  NodeId import_outputs(std::vector<relay::AttrValue>& names);
  bool check_inputs(const onnx::NodeProto& node);
  std::optional<NodeId> fold(const relay::Operator& op, std::span<const NodeId> args,
                             const Attrs& attrs, const Type& type);
  Result<Type> infer(const relay::Operator& op, std::span<const NodeId> args, const Attrs& attrs,
                     const Location& at);

  const OnnxModel& model_;
  const ImportOptions& options_;
  relay::FunctionBuilder builder_;
  ConstantPool constants_;
  SymbolTable symbols_;
  std::map<std::string, NodeId> values_;
  std::map<std::string, bool> failed_;  // values of nodes that were reported: no second message for their users
  Diagnostics errors_;
};

}  // namespace tessera::import
