// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace tessera::passes {

using relay::Copier;
using relay::is_call_of;
using relay::NodeId;
using Ints = std::vector<std::int64_t>;

bool has_one_element(const Type& type) { return num_elements(type.shape()) == Dim(1); }

bool fits_int32(const Dim& terms) {
  const auto known = terms.as_constant();
  return known && *known <= std::numeric_limits<std::int32_t>::max() / (255 * 255);
}

std::optional<Quantized> QuantizedValues::find(NodeId id, DType wide) const {
  Quantized q;
  const Shape& shape = f_.type(id).shape();
  if (wide == kFloat32) {
    if (!is_call_of(f_, id, "multiply")) return std::nullopt;
    q.scale = f_.operands(id)[1];
    id = f_.operands(id)[0];
  }
  if (is_call_of(f_, id, "subtract")) {
    q.zero = f_.operands(id)[1];
    id = f_.operands(id)[0];
  }
  if (!is_call_of(f_, id, "cast") || f_.type(id).dtype() != wide) return std::nullopt;
  q.x = f_.operands(id)[0];
  const Type& narrow = f_.type(q.x);
  // A zero point or a scale may widen it to more elements.
  return narrow.dtype().is_byte() && narrow.shape() == shape ? std::optional(q) : std::nullopt;
}

// The value that a few views and casts come from, or the first of eight bits on the way.
NodeId QuantizedValues::source(NodeId id, bool up_to_bytes) const {
  constexpr int kMostSteps = 8;
  constexpr std::string_view kViews[] = {"cast", "reshape", "expand_dims", "squeeze", "transpose"};
  for (int i = 0; i < kMostSteps && f_.op(id) != nullptr; ++i) {
    if (up_to_bytes && f_.type(id).dtype().is_byte()) return id;
    const auto* const view = std::find(std::begin(kViews), std::end(kViews), f_.op(id)->name);
    if (view == std::end(kViews)) return id;
    id = f_.operands(id)[0];
  }
  return id;
}

const Tensor* QuantizedValues::constant(NodeId id) const {
  const auto* found = f_.as<relay::Constant>(source(id, false));
  return found == nullptr ? nullptr : &pool_.resolve(found->value);
}

bool QuantizedValues::is_zero_point_of(NodeId zero, DType narrow) const {
  const NodeId from = source(zero, true);
  if (f_.type(from).dtype() == narrow) return true;
  const auto* found = f_.as<relay::Constant>(from);
  if (found == nullptr) return false;
  const Tensor& tensor = pool_.resolve(found->value);
  const double least = narrow == kInt8 ? -128 : 0;
  const double value = tensor.num_elements() == 1 ? element_as_double(tensor, 0) : least - 1;
  return value >= least && value <= least + 255 && std::trunc(value) == value;
}

std::optional<double> QuantizedValues::number(NodeId id) const {
  const auto* found = f_.as<relay::Constant>(id);
  if (found == nullptr) return std::nullopt;
  const Tensor& tensor = pool_.resolve(found->value);
  if (tensor.num_elements() != 1) return std::nullopt;
  return element_as_double(tensor, 0);
}

bool QuantizedValues::holds_only(NodeId id, double value) const {
  const Tensor* tensor = constant(id);
  if (tensor == nullptr || tensor->num_elements() > 1 << 20) return false;
  for (std::int64_t i = 0; i < tensor->num_elements(); ++i) {
    if (element_as_double(*tensor, i) != value) return false;
  }
  return true;
}

bool QuantizedValues::is_offset_int8(const Quantized& q) const {
  return q.zero && f_.type(q.x).dtype() == kUInt8 && holds_only(q.zero, 128);
}

bool QuantizedValues::suits_integers(const Quantized& x, const Quantized& weight) const {
  const bool is_constant = constant(weight.x) != nullptr;
  if (has_zero_point(weight) && !(is_constant && is_offset_int8(weight))) return false;
  if (has_zero_point(x) && !(is_constant && has_one_element(f_.type(x.zero)) &&
                             is_zero_point_of(x.zero, f_.type(x.x).dtype()))) {
    return false;
  }
  return !x.scale || has_one_element(f_.type(x.scale));
}

bool QuantizedValues::has_scale_along(const Quantized& q, std::size_t axis) const {
  const Shape& scale = f_.type(q.scale).shape();
  const Shape& shape = f_.type(q.x).shape();
  if (num_elements(scale) == Dim(1)) return true;
  const std::size_t place = shape.size() - axis;  // from the end
  if (scale.size() < place || scale.size() > shape.size()) return false;
  return scale[scale.size() - place] == shape[axis] && num_elements(scale) == shape[axis];
}

NodeId QuantizedValues::flat(Copier& c, NodeId old) const {
  const Ints shape = has_one_element(f_.type(old)) ? Ints{} : Ints{-1};
  return call(c, "reshape", {c.map(old)}, {{"newshape", shape}});
}

NodeId QuantizedValues::stored(Copier& c, const Quantized& q) const {
  const NodeId x = c.map(q.x);
  if (!is_offset_int8(q)) return x;
  const std::int64_t offset = 128;
  const NodeId zero = c.builder().constant(tensor_from_ints({}, kInt32, std::span(&offset, 1)));
  return cast(c, call(c, "subtract", {cast(c, x, kInt32), zero}), kInt8);
}

NodeId QuantizedValues::offset(Copier& c, const Quantized& x, NodeId weight, Ints axes) const {
  const NodeId sums = call(c, "sum", {cast(c, weight, kInt32)}, {{"axis", std::move(axes)}});
  const NodeId zero = cast(c, flat(c, x.zero), kInt32);
  return call(c, "multiply", {sums, zero});
}

NodeId QuantizedValues::scale(Copier& c, const Quantized& x, const Quantized& weight) const {
  return call(c, "multiply", {flat(c, weight.scale), flat(c, x.scale)});
}

}  // namespace tessera::passes
