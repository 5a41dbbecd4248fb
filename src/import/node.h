// SPDX-License-Identifier: Apache-2.0
// What a converter sees of one ONNX node, and with what it answers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "import/onnx_model.h"
#include "ops/table.h"
#include "relay/function.h"

namespace tessera::import {

using relay::Attrs;
using relay::NodeId;

class GraphImporter;

// Thrown by Node's accessors to leave a converter early; caught by the importer, which goes on with the
// next node so that all errors are reported. The one place where an exception is control flow: every
// accessor of every converter would otherwise be a TRY.
struct NodeError {
  Diagnostic diagnostic;
};

// One node under conversion. Calls are typed and, where all operands are constants, evaluated at once: the shape
// arithmetic of exporters is gone before it enters the graph.
class Node {
 public:
  Node(GraphImporter& importer, const onnx::NodeProto& proto, int opset);

  const std::string& op_type() const { return proto_.op_type(); }
  int opset() const { return opset_; }
  const Location& location() const { return location_; }

  // ---- Inputs ----
  std::size_t num_inputs() const { return static_cast<std::size_t>(proto_.input_size()); }
  std::size_t num_outputs() const { return static_cast<std::size_t>(proto_.output_size()); }
  bool has_input(std::size_t i) const;          // given and not ""
  bool uses_output(std::size_t i) const;        // asked for and not ""
  NodeId input(std::size_t i) const;            // an error if it is not given
  std::vector<NodeId> inputs() const;           // all that are given
  const Type& type(NodeId id) const;
  const Shape& shape(NodeId id) const { return type(id).shape(); }
  std::int64_t rank(NodeId id) const { return static_cast<std::int64_t>(shape(id).size()); }
  DType dtype(NodeId id) const { return type(id).dtype(); }
  // The sizes; an error if one is not known.
  std::vector<std::int64_t> sizes(NodeId id) const;
  // The data of a value that is known now, or null / an error that says what must be constant.
  const Tensor* constant(NodeId id) const;
  const Tensor& need_constant(std::size_t input, std::string_view what) const;
  std::vector<std::int64_t> need_ints(std::size_t input, std::string_view what) const;

  // ---- Attributes ----
  bool has_attr(std::string_view name) const;
  std::int64_t int_attr(std::string_view name, std::int64_t fallback) const;
  double float_attr(std::string_view name, double fallback) const;
  std::string string_attr(std::string_view name, std::string fallback) const;
  std::vector<std::int64_t> ints_attr(std::string_view name, std::vector<std::int64_t> fallback = {}) const;
  std::vector<double> floats_attr(std::string_view name, std::vector<double> fallback = {}) const;
  std::vector<std::string> strings_attr(std::string_view name) const;
  std::optional<Tensor> tensor_attr(std::string_view name) const;
  // The axis counted from the front; an error if it lies outside [-rank, rank).
  std::int64_t axis(std::int64_t value, std::int64_t rank) const;

  // ---- Answers ----
  NodeId call(std::string_view op, std::span<const NodeId> args, Attrs attrs = {});
  NodeId call(std::string_view op, std::initializer_list<NodeId> args, Attrs attrs = {}) {
    return call(op, std::span(args.begin(), args.size()), std::move(attrs));
  }
  NodeId constant(Tensor tensor);
  NodeId scalar(double value, DType dtype);
  NodeId ints(const std::vector<std::int64_t>& values);  // int64[n]
  NodeId tuple(std::span<const NodeId> fields);
  NodeId project(NodeId tuple, int index);
  // Often needed: each leaves the value alone where nothing changes.
  NodeId reshape(NodeId x, const std::vector<std::int64_t>& shape);
  NodeId transpose(NodeId x, const std::vector<std::int64_t>& axes);
  NodeId cast(NodeId x, DType dtype);

  // Leaves the converter: this attribute or form is not supported.
  [[noreturn]] void unsupported(std::string_view what) const;
  // Leaves the converter: the model is wrong.
  [[noreturn]] void invalid(Code code, std::string finding) const;

 private:
  const onnx::AttributeProto* find_attr(std::string_view name) const;

  GraphImporter& importer_;
  const onnx::NodeProto& proto_;
  int opset_;
  Location location_;
};

// Returns the node's outputs in order; fewer than asked for if the last ones are not used.
using Convert = std::vector<NodeId> (*)(Node&);

// A converter from one opset on, until the next one of the same operator.
struct Converter {
  std::string_view op_type;
  int since_opset = 1;
  Convert convert = nullptr;
};

}  // namespace tessera::import
