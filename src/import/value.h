// SPDX-License-Identifier: Apache-2.0
// Values of the graph under construction as expressions, for converters that compose an ONNX
// operator of several: `(x - mean) / sqrt(variance + epsilon)`. Where all operands are known the
// result is a constant, so that one definition serves constant and run-time operands alike.
#pragma once

#include "import/node.h"

namespace tessera::import {

class Value {
 public:
  Value(Node& node, NodeId id) : node_(&node), id_(id) {}
  operator NodeId() const { return id_; }  // NOLINT: a value is a node
  Node& node() const { return *node_; }

  DType dtype() const { return node_->dtype(id_); }
  Ints sizes() const { return node_->sizes(id_); }
  std::int64_t size(std::int64_t axis) const { return node_->size(id_, axis); }
  const Shape& shape() const { return node_->shape(id_); }  // sizes that may be symbolic
  std::int64_t rank() const { return node_->rank(id_); }
  // One of the shape's dimensions, and those of [begin, end); an error where there are none.
  Dim dim(std::int64_t axis) const { return node_->dim(id_, axis); }
  Shape dims(std::int64_t begin, std::int64_t end) const;

  Value reshape(const Ints& shape) const { return {*node_, node_->reshape(id_, shape)}; }
  Value reshape_to(const Shape& shape) const { return {*node_, node_->reshape_to(id_, shape)}; }
  // The dimensions [begin, end) as one, of size 1 where there are none.
  Value merge(std::int64_t begin, std::int64_t end) const;
  // A dimension, whose size is known, as two: `count` parts, and their elements.
  Value split(std::int64_t axis, std::int64_t count) const;
  // What was computed of `whole` with dimensions merged, element by element, in its shape again.
  Value unmerge(Value whole) const;
  Value squeeze(std::int64_t axis) const { return apply("squeeze", {{"axis", Ints{axis}}}); }
  Value expand_dims(std::int64_t axis) const { return apply("expand_dims", {{"axis", axis}}); }
  Value transpose(const Ints& axes) const { return {*node_, node_->transpose(id_, axes)}; }
  Value cast(DType dtype) const { return {*node_, node_->cast(id_, dtype)}; }
  Value broadcast(const Ints& shape) const { return {*node_, node_->broadcast(id_, shape)}; }
  Value broadcast_to(const Shape& shape) const { return {*node_, node_->broadcast_to(id_, shape)}; }
  // The same, whose size along `axis` is that of another value: known here, or checked in the run.
  // An error of the node where the two differ.
  Value matched(std::int64_t axis, Value like, std::int64_t like_axis) const;
  // [begin, end) of one dimension; `at` takes one place and drops the dimension.
  Value slice(std::int64_t axis, std::int64_t begin, std::int64_t end) const;
  Value at(std::int64_t axis, std::int64_t place) const;
  // Elements at `indices` (int64) of a dimension; negative ones count from the end in mode "wrap".
  Value take(NodeId indices, std::int64_t axis, std::string_view mode = "clip") const;
  Value sum(const Ints& axes, bool keepdims = true) const;
  Value mean(const Ints& axes, bool keepdims = true) const;
  Value matmul(NodeId other) const;
  // A unary operator.
  Value apply(std::string_view op) const { return {*node_, node_->call(op, {id_})}; }
  Value apply(std::string_view op, Attrs attrs) const {
    return {*node_, node_->call(op, {id_}, std::move(attrs))};
  }
  // One of two operands.
  Value apply(std::string_view op, NodeId other, Attrs attrs) const {
    return {*node_, node_->call(op, {id_, other}, std::move(attrs))};
  }
  // A number of this value's type.
  Value number(double value) const { return {*node_, node_->scalar(value, dtype())}; }

 private:
  Node* node_;
  NodeId id_;
};

#define TESSERA_VALUE_BINARY(name, op)                                                  \
  inline Value name(Value a, Value b) { return {a.node(), a.node().call(op, {a, b})}; } \
  inline Value name(Value a, double b) { return name(a, a.number(b)); }                 \
  inline Value name(double a, Value b) { return name(b.number(a), b); }
TESSERA_VALUE_BINARY(operator+, "add")
TESSERA_VALUE_BINARY(operator-, "subtract")
TESSERA_VALUE_BINARY(operator*, "multiply")
TESSERA_VALUE_BINARY(operator/, "divide")
TESSERA_VALUE_BINARY(operator<, "less")
TESSERA_VALUE_BINARY(operator<=, "less_equal")
TESSERA_VALUE_BINARY(operator>, "greater")
TESSERA_VALUE_BINARY(operator>=, "greater_equal")
TESSERA_VALUE_BINARY(equal, "equal")
TESSERA_VALUE_BINARY(minimum, "minimum")
TESSERA_VALUE_BINARY(maximum, "maximum")
TESSERA_VALUE_BINARY(power, "power")
TESSERA_VALUE_BINARY(floor_mod, "floor_mod")
#undef TESSERA_VALUE_BINARY
inline Value operator&&(Value a, Value b) {  // NOLINT: element-wise; nothing has an effect
  return {a.node(), a.node().call("logical_and", {a, b})};
}
inline Value operator||(Value a, Value b) {  // NOLINT
  return {a.node(), a.node().call("logical_or", {a, b})};
}
inline Value operator!(Value a) { return a.apply("logical_not"); }
inline Value where(Value condition, Value a, Value b) {
  return {a.node(), a.node().call("where", {condition, a, b})};
}

Value input(Node& n, std::size_t i);
// Input `i` as weights of `x`. An exporter that fuses a normalisation into weights of 16 bits
// leaves them in float32, though ONNX wants one type: they are rounded to that of x, with a
// warning.
Value weights_of(Value x, std::size_t i);
// The input, or the number as a scalar of the type if it is not given.
Value input_or(Node& n, std::size_t i, double number, DType dtype);
Value concat(Node& n, const std::vector<Value>& parts, std::int64_t axis);
Value stack(Node& n, const std::vector<Value>& parts, std::int64_t axis);
Value zeros(Node& n, const Ints& shape, DType dtype);
// 0, 1, ..., count - 1.
Value iota(Node& n, std::int64_t count, DType dtype = kInt64);
// The same of a scalar int64 that may come at run time.
Value iota(Value count, DType dtype = kInt64);
// 0, 1, ... for each place of a dimension, whose size may be known at run time alone.
Value iota_along(Value x, std::int64_t axis, DType dtype = kInt64);
// A constant of the values, rounded to the type.
Value numbers(Node& n, Ints shape, const std::vector<double>& values, DType dtype);
// The tensor with `axis` as its only dimension of more than one element, for broadcasting to
// `rank`.
Value along(Value x, std::int64_t axis, std::int64_t rank);

// ---- Sizes and axes ----
// The sizes of the dimensions [begin, end), int64: by name where all have one.
Value sizes_of(Value x, std::int64_t begin, std::int64_t end);
inline Value sizes_of(Value x) { return sizes_of(x, 0, x.rank()); }
// One size as a scalar, int64.
Value size_of(Value x, std::int64_t axis);
Value size_of(Node& n, const Dim& size);
Ints range(std::int64_t begin, std::int64_t end);
// The largest number where it does not fit.
std::int64_t product(const Ints& sizes, std::size_t begin, std::size_t end);
std::int64_t product(const Ints& sizes);
// The shape that numpy gives two shapes together; an error if they do not fit.
Ints broadcast_shape(Node& n, const Ints& a, const Ints& b);

}  // namespace tessera::import
