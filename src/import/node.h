// SPDX-License-Identifier: Apache-2.0
// What a converter sees of one ONNX node, and with what it answers.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "import/call_builder.h"
#include "import/onnx_model.h"
#include "import/scope.h"

namespace tessera::import {

using Ints = std::vector<std::int64_t>;

// One node under conversion. It keeps account of the inputs and attributes that the converter
// looked at: what it did not look at, it does not support.
class Node {
 public:
  Node(CallBuilder& builder, const Scope& scope, const OnnxModel& model,
       const onnx::NodeProto& proto, Location location);

  const onnx::NodeProto& proto() const { return proto_; }
  const std::string& op_type() const { return proto_.op_type(); }
  int opset() const { return scope_.opset; }  // of the default domain
  // The opset of the node's own domain; 1 where the model does not import it.
  int domain_opset() const { return scope_.opset_of(proto_.domain()); }
  const Location& location() const { return location_; }

  // ---- Inputs ----
  std::size_t num_inputs() const { return static_cast<std::size_t>(proto_.input_size()); }
  std::size_t num_outputs() const { return static_cast<std::size_t>(proto_.output_size()); }
  bool has_input(std::size_t i) const;    // given and not ""
  bool uses_output(std::size_t i) const;  // asked for and not ""
  NodeId input(std::size_t i) const;      // an error if it is not given
  std::vector<NodeId> inputs() const;     // all that are given
  // ONNX's number of a narrow type, whose elements became bytes (import/narrow.h); else 0.
  int narrow_type(std::size_t i) const;
  bool is_narrow(std::size_t i) const { return narrow_type(i) != 0; }
  // A sequence; an error if it is none.
  bool is_sequence(std::size_t i) const;
  const Sequence& sequence(std::size_t i) const;
  void set_sequence_output(std::size_t i, Sequence s) { sequence_outputs_[i] = std::move(s); }
  const std::map<std::size_t, Sequence>& sequence_outputs() const { return sequence_outputs_; }
  // The outputs of narrow types.
  void set_narrow_output(std::size_t i, int type) { narrow_outputs_[i] = type; }
  const std::map<std::size_t, int>& narrow_outputs() const { return narrow_outputs_; }
  void ignore_input(std::size_t i) const { read_inputs_.insert(i); }
  const Type& type(NodeId id) const { return builder_.type(id); }
  const Shape& shape(NodeId id) const { return type(id).shape(); }
  std::int64_t rank(NodeId id) const { return static_cast<std::int64_t>(shape(id).size()); }
  DType dtype(NodeId id) const { return type(id).dtype(); }
  // The sizes; an error if one is not known.
  Ints sizes(NodeId id) const;
  std::int64_t size(NodeId id, std::int64_t axis) const;
  bool is_known(NodeId id) const { return builder_.constant_of(id) != nullptr; }
  // The data of a value that is known now, or nothing / an error that says what must be constant.
  std::optional<Tensor> constant(NodeId id) const;
  Tensor need_constant(std::size_t input, std::string_view what) const;
  Ints need_ints(std::size_t input, std::string_view what) const;
  // The integers of an input if it is constant, or empty.
  std::optional<Ints> known_ints(std::size_t input) const;
  // The same of an input that holds one number: an error for any other count.
  std::optional<Tensor> known_number(std::size_t input) const;
  std::optional<std::int64_t> known_int(std::size_t input) const;
  std::int64_t need_int(std::size_t input, std::string_view what) const;
  // The elements of an input as sizes: numbers, symbols and what is computed from them; nothing
  // where one of them is not known.
  std::optional<Shape> known_sizes(std::size_t input) const;
  // Is low <= high whatever values in their ranges the symbols have?
  bool is_within(const Dim& low, const Dim& high) const { return builder_.is_within(low, high); }
  // One dimension, which may be symbolic; an error if there is none.
  Dim dim(NodeId id, std::int64_t axis) const;
  // The shape that the model states for an output; nothing if it has not `rank` dimensions.
  std::optional<Ints> declared_shape(std::size_t output) const;
  std::optional<Ints> declared_shape(std::size_t output, std::int64_t rank) const;

  // ---- Attributes ----
  bool has_attr(std::string_view name) const;
  std::int64_t int_attr(std::string_view name, std::int64_t fallback) const;
  bool flag_attr(std::string_view name, bool fallback) const {
    return int_attr(name, fallback ? 1 : 0) != 0;
  }
  double float_attr(std::string_view name, double fallback) const;
  std::string string_attr(std::string_view name, std::string fallback) const;
  Ints ints_attr(std::string_view name, Ints fallback = {}) const;
  std::vector<double> floats_attr(std::string_view name, std::vector<double> fallback = {}) const;
  std::vector<std::string> strings_attr(std::string_view name) const;
  std::optional<Tensor> tensor_attr(std::string_view name) const;
  // An error if it is not there.
  std::int64_t need_int_attr(std::string_view name) const;
  Ints need_ints_attr(std::string_view name) const;
  // A narrow type by ONNX's number, or 0.
  int narrow_type_attr(std::string_view name) const;
  // A data type by ONNX's number.
  DType dtype_attr(std::string_view name, DType fallback) const;
  // The graph of a branch or loop; an error if it is not there.
  const onnx::GraphProto& graph_attr(std::string_view name) const;
  // An attribute that changes nothing here: a hint, or of no effect in inference.
  void ignore_attr(std::string_view name) const { read_attrs_.emplace(name); }
  // The axis counted from the front; an error if it lies outside [-rank, rank).
  std::int64_t axis(std::int64_t value, std::int64_t rank) const;
  std::int64_t axis_attr(std::int64_t fallback, NodeId of) const {
    return axis(int_attr("axis", fallback), rank(of));
  }

  // Before constants of so many elements are made; an error beyond the limit.
  void make_room(double elements) const { builder_.make_room(elements); }

  // ---- Answers ----
  NodeId call(std::string_view op, std::span<const NodeId> args, Attrs attrs = {});
  NodeId call(std::string_view op, std::initializer_list<NodeId> args, Attrs attrs = {}) {
    return call(op, std::span(args.begin(), args.size()), std::move(attrs));
  }
  NodeId constant(Tensor tensor) { return builder_.constant(std::move(tensor)); }
  NodeId scalar(double value, DType dtype);
  NodeId ints(const Ints& values, DType dtype = kInt64);  // of rank 1
  // Often needed: each leaves the value alone where nothing changes.
  // `_to`: sizes may be symbolic.
  NodeId reshape_to(NodeId x, const Shape& shape);
  NodeId reshape(NodeId x, const Ints& shape) {
    return reshape_to(x, Shape(shape.begin(), shape.end()));
  }
  NodeId transpose(NodeId x, const Ints& axes);
  NodeId cast(NodeId x, DType dtype);
  NodeId broadcast_to(NodeId x, const Shape& shape);
  NodeId broadcast(NodeId x, const Ints& shape) {
    return broadcast_to(x, Shape(shape.begin(), shape.end()));
  }
  // A list of sizes: a constant where all are numbers.
  NodeId sizes_of(const Shape& sizes) { return builder_.sizes(sizes); }
  // The only element, in whatever shape it comes; an error for another type.
  NodeId scalar_of(NodeId x, DType dtype, std::string_view what);
  NodeId tuple(std::span<const NodeId> fields) { return builder_.tuple(fields); }
  NodeId project(NodeId tuple, int index) { return builder_.project(tuple, index); }

  // ---- Loops (node_loop.cc) ----
  // What an iteration hands to the next one, of what it was handed and what all iterations read.
  // Its nodes are those of another function: it knows values of this one by what it is given only.
  using Iterate = std::function<std::vector<NodeId>(
      NodeId iteration, std::span<const NodeId> carried, std::span<const NodeId> read)>;
  // So many iterations, an int64: what the last one hands on. Sizes that change are `?`: then the
  // iteration is built once more.
  std::vector<NodeId> repeat(NodeId count, std::span<const NodeId> carried,
                             std::span<const NodeId> read, const Iterate& iterate);

  // Leaves the converter: this attribute or form is not supported.
  [[noreturn]] void unsupported(std::string_view what) const;
  // Leaves the converter: the model is wrong.
  [[noreturn]] void invalid(Code code, const std::string& finding) const;
  // The model is imported, but not as it is.
  void warn(std::string_view finding, std::string_view remedy) const;
  // Leaves the converter for what it has not looked at.
  void check_all_was_read() const;

 private:
  class Captured;
  bool define_loop(const std::string& name, std::vector<Type>& types, Captured& captured,
                   const Iterate& iterate);
  Diagnostic not_supported(std::string_view what) const;
  Diagnostic wrong(Code code, const std::string& finding) const;
  // Leaves the converter: of an attribute, whatever the inputs are.
  [[noreturn]] void wrong_attribute(const std::string& finding) const;
  const onnx::AttributeProto* find_attr(std::string_view name,
                                        onnx::AttributeProto::AttributeType type) const;

  CallBuilder& builder_;
  const Scope& scope_;
  const OnnxModel& model_;
  const onnx::NodeProto& proto_;
  Location location_;
  std::map<std::size_t, int> narrow_outputs_;
  std::map<std::size_t, Sequence> sequence_outputs_;
  mutable std::set<std::size_t> read_inputs_;
  mutable std::set<std::string, std::less<>> read_attrs_;
};

// Returns the node's outputs in order; fewer than asked for if the last ones are not used. One of
// strings has no id: who uses it is refused.
using Convert = std::vector<NodeId> (*)(Node&);

// A converter from one opset on, until the next one of the same operator.
struct Converter {
  std::string_view op_type;
  int since_opset = 1;
  Convert convert = nullptr;
};

}  // namespace tessera::import
