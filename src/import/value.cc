// SPDX-License-Identifier: Apache-2.0
#include "import/value.h"

#include <algorithm>

#include "ops/records/reshape_codes.h"

namespace tessera::import {

Shape Value::dims(std::int64_t begin, std::int64_t end) const {
  if (begin < 0 || begin > end || end > rank()) {
    node_->invalid(Code::kShapeMismatch,
                   fmt::format("an operand has {} dimensions, too few for it", rank()));
  }
  return Shape(shape().begin() + begin, shape().begin() + end);
}

Value Value::matched(std::int64_t axis, Value like, std::int64_t like_axis) const {
  const Dim &size = dim(axis), &wanted = like.dim(like_axis);
  switch (provably_equal(size, wanted)) {
    case Tri::kYes:
      return *this;
    case Tri::kMaybe:
      return apply("match_size", like, {{"axis", axis}, {"like_axis", like_axis}});
    case Tri::kNo:
      break;
  }
  node_->invalid(Code::kShapeMismatch,
                 fmt::format("an operand of the shape {} has {} instead of {} in dimension {}",
                             to_string(shape()), to_string(size), to_string(wanted), axis));
}

Value Value::slice(std::int64_t axis, std::int64_t begin, std::int64_t end) const {
  if (begin == 0 && Dim(end) == dim(axis)) return *this;
  return apply(
      "strided_slice",
      {{"begin", Ints{begin}}, {"end", Ints{end}}, {"strides", Ints{1}}, {"axes", Ints{axis}}});
}

Value Value::at(std::int64_t axis, std::int64_t place) const {
  const auto size = dim(axis).as_constant();
  if (place < 0 || (size && place >= *size)) {
    node_->invalid(Code::kShapeMismatch, fmt::format("an operand of the shape {} has no element {} "
                                                     "in dimension {}",
                                                     to_string(shape()), place, axis));
  }
  return slice(axis, place, place + 1).squeeze(axis);
}

Value Value::unmerge(Value whole) const {
  if (rank() == whole.rank()) return *this;
  if (has_names(whole.shape())) return reshape_to(whole.shape());
  return {*node_, node_->call("dyn.reshape", {id_, sizes_of(whole)})};
}

Value Value::merge(std::int64_t begin, std::int64_t end) const {
  const Shape inner = dims(begin, end), rest = dims(end, rank());
  if (inner.size() == 1) return *this;
  Shape merged = dims(0, begin);
  merged.push_back(num_elements(inner));
  merged.insert(merged.end(), rest.begin(), rest.end());
  if (has_names(merged) || ops::reshape_codes(shape(), merged)) return reshape_to(merged);
  const Value all = sizes_of(*this);
  const Value one = all.slice(0, begin, end).apply("prod", {{"axis", Ints{0}}, {"keepdims", true}});
  const Value wanted = concat(*node_, {all.slice(0, 0, begin), one, all.slice(0, end, rank())}, 0);
  return {*node_, node_->call("dyn.reshape", {id_, wanted})};
}

Value Value::split(std::int64_t axis, std::int64_t count) const {
  const std::int64_t size = this->size(axis);
  if (count < 1 || size % count != 0) {
    node_->invalid(Code::kShapeMismatch,
                   fmt::format("dimension {} of an operand of the shape {} is to be {} equal parts",
                               axis, to_string(shape()), count));
  }
  Shape parts = dims(0, axis);
  parts.insert(parts.end(), {Dim(count), Dim(size / count)});
  const Shape rest = dims(axis + 1, rank());
  parts.insert(parts.end(), rest.begin(), rest.end());
  if (has_names(parts) || ops::reshape_codes(shape(), parts)) return reshape_to(parts);
  const Value all = sizes_of(*this), two(*node_, node_->ints({count, size / count}));
  const Value wanted =
      concat(*node_, {all.slice(0, 0, axis), two, all.slice(0, axis + 1, rank())}, 0);
  return {*node_, node_->call("dyn.reshape", {id_, wanted})};
}

Value sizes_of(Value x, std::int64_t begin, std::int64_t end) {
  const Shape part = x.dims(begin, end);
  if (has_names(part)) return {x.node(), x.node().sizes_of(part)};
  return x.apply("shape_of", {{"dtype", kInt64}}).slice(0, begin, end);
}

Value size_of(Value x, std::int64_t axis) {
  const Dim size = x.dim(axis);
  return size.is_unknown() ? sizes_of(x, axis, axis + 1).reshape({}) : size_of(x.node(), size);
}

Value size_of(Node& n, const Dim& size) { return Value(n, n.sizes_of({size})).reshape({}); }

Value Value::take(NodeId indices, std::int64_t axis, std::string_view mode) const {
  return {*node_,
          node_->call("take", {id_, indices}, {{"axis", axis}, {"mode", std::string(mode)}})};
}

Value Value::sum(const Ints& axes, bool keepdims) const {
  return apply("sum", {{"axis", axes}, {"keepdims", keepdims}});
}

Value Value::mean(const Ints& axes, bool keepdims) const {
  return apply("mean", {{"axis", axes}, {"keepdims", keepdims}});
}

Value Value::matmul(NodeId other) const {
  return {*node_, node_->call("nn.matmul", {id_, other}, {{"units", relay::AttrValue()}})};
}

Value input(Node& n, std::size_t i) { return {n, n.input(i)}; }

Value weights_of(Value x, std::size_t i) {
  Node& n = x.node();
  const Value w = input(n, i);
  if (w.dtype() == x.dtype() || !w.dtype().is_float() || !x.dtype().is_float()) return w;
  n.warn(fmt::format("its input {} is of {}, and its data are of {}, of which all must be: it is "
                     "converted",
                     i, to_string(w.dtype()), to_string(x.dtype())),
         "export the model with one type, or without fusing normalisations into weights");
  return w.cast(x.dtype());
}

Value input_or(Node& n, std::size_t i, double number, DType dtype) {
  return {n, n.has_input(i) ? n.input(i) : n.scalar(number, dtype)};
}

Value concat(Node& n, const std::vector<Value>& parts, std::int64_t axis) {
  if (parts.size() == 1) return parts[0];
  const std::vector<NodeId> ids(parts.begin(), parts.end());
  return {n, n.call("concatenate", {n.tuple(ids)}, {{"axis", axis}})};
}

Value stack(Node& n, const std::vector<Value>& parts, std::int64_t axis) {
  const std::vector<NodeId> ids(parts.begin(), parts.end());
  return {n, n.call("stack", {n.tuple(ids)}, {{"axis", axis}})};
}

Value zeros(Node& n, const Ints& shape, DType dtype) {
  return {n, n.call("zeros", {}, {{"shape", shape}, {"dtype", dtype}})};
}

Value iota(Node& n, std::int64_t count, DType dtype) {
  n.make_room(static_cast<double>(count));
  return {n, n.ints(range(0, count), dtype)};
}

Value iota(Value count, DType dtype) {
  Node& n = count.node();
  if (const auto known = n.constant(count)) return iota(n, element_as_int(*known, 0), dtype);
  const NodeId zero = n.scalar(0, kInt64), one = n.scalar(1, kInt64);
  return Value(n, n.call("arange", {zero, count, one})).cast(dtype);
}

Value iota_along(Value x, std::int64_t axis, DType dtype) { return iota(size_of(x, axis), dtype); }

Value numbers(Node& n, Ints shape, const std::vector<double>& values, DType dtype) {
  return {n, n.constant(tensor_from_doubles(std::move(shape), dtype, values))};
}

Value along(Value x, std::int64_t axis, std::int64_t rank) {
  if (axis < 0 || axis >= rank) {
    x.node().invalid(Code::kShapeMismatch,
                     fmt::format("an operand has {} dimensions, too few for it", rank));
  }
  Shape shape(static_cast<std::size_t>(rank), Dim(1));
  shape[static_cast<std::size_t>(axis)] = num_elements(x.shape());
  return x.reshape_to(shape);
}

Ints range(std::int64_t begin, std::int64_t end) {
  Ints all;
  for (std::int64_t i = begin; i < end; ++i) all.push_back(i);
  return all;
}

std::int64_t product(const Ints& sizes, std::size_t begin, std::size_t end) {
  if (std::find(sizes.begin() + static_cast<std::ptrdiff_t>(begin),
                sizes.begin() + static_cast<std::ptrdiff_t>(end),
                0) != sizes.begin() + static_cast<std::ptrdiff_t>(end)) {
    return 0;
  }
  std::int64_t count = 1;
  for (std::size_t i = begin; i < end; ++i) {
    // No tensor has so many elements: who makes one of it is told.
    if (__builtin_mul_overflow(count, sizes[i], &count)) return INT64_MAX;
  }
  return count;
}

std::int64_t product(const Ints& sizes) { return product(sizes, 0, sizes.size()); }

Ints broadcast_shape(Node& n, const Ints& a, const Ints& b) {
  Ints out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      n.invalid(Code::kShapeMismatch, "its input cannot be broadcast to the shape asked for");
    }
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace tessera::import
