// SPDX-License-Identifier: Apache-2.0
// Pad and CenterCropPad.
#include "import/converters.h"
#include "import/value.h"

namespace tessera::import {
namespace {

// Sums of it and a size do not overflow.
constexpr std::int64_t kFarthestPad = std::int64_t{1} << 61;

struct Padding {
  Ints before, after;  // one a dimension of the input
};

Padding padding(Node& n, const Ints& pads, const Ints& axes) {
  const std::int64_t rank = n.rank(n.input(0));
  if (pads.size() != 2 * axes.size()) n.invalid(Code::kWrongAttribute, "it needs two pads an axis");
  Padding p{Ints(static_cast<std::size_t>(rank), 0), Ints(static_cast<std::size_t>(rank), 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(n.axis(axes[i], rank));
    for (const std::int64_t pad : {pads[i], pads[i + axes.size()]}) {
      if (pad < -kFarthestPad || pad > kFarthestPad) {
        n.invalid(Code::kWrongAttribute, fmt::format("it pads by {}", pad));
      }
    }
    p.before[axis] = pads[i];
    p.after[axis] = pads[i + axes.size()];
  }
  return p;
}

// The places that a padded dimension reads: -1 where it is the pad value.
Value places(Value begin, std::int64_t count, std::int64_t size, const std::string& mode) {
  Node& n = begin.node();
  const Value at = iota(n, count) - begin;
  const auto last = static_cast<double>(size - 1);
  if (mode == "edge") return minimum(maximum(at, 0.0), last);
  if (mode == "wrap") return floor_mod(at, static_cast<double>(size));
  if (mode != "reflect") return where(at >= 0.0 && at <= last, at, at.number(-1));
  if (size == 1) return at * 0.0;
  const Value phase = floor_mod(at, 2 * last);
  return minimum(phase, 2 * last - phase);
}

// Pads of which only the sizes of the result are known: each dimension is gathered.
Value pad_gather(Node& n, Value begins, const Ints& result, const std::string& mode) {
  Value y = input(n, 0);
  const Ints sizes = y.sizes();
  const bool constant = mode == "constant";
  const Value value = n.has_input(2) ? input(n, 2).reshape({}) : y.number(0);
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const auto axis = static_cast<std::int64_t>(d);
    const Value at = places(begins.at(0, axis), result[d], sizes[d], mode);
    if (sizes[d] > 0) y = y.take(at, axis);
    if (constant) y = where(along(at, axis, y.rank()) >= 0.0, y, value);
  }
  return y;
}

// Negative pads crop first: what is left repeats.
Value wrapped(Value x, const Padding& p) {
  for (std::size_t d = 0; d < p.before.size(); ++d) {
    const auto axis = static_cast<std::int64_t>(d);
    const std::int64_t begin = std::max<std::int64_t>(-p.before[d], 0);
    const std::int64_t end = x.size(axis) - std::max<std::int64_t>(-p.after[d], 0);
    if (begin >= end) x.node().invalid(Code::kShapeMismatch, "its pads leave nothing to repeat");
    x = x.slice(axis, begin, end);
    const std::int64_t before = std::max<std::int64_t>(p.before[d], 0);
    const std::int64_t after = std::max<std::int64_t>(p.after[d], 0);
    if (before + after == 0) continue;
    const Value at = iota(x.node(), before + x.size(axis) + after) - static_cast<double>(before);
    x = x.take(floor_mod(at, static_cast<double>(x.size(axis))), axis);
  }
  return x;
}

std::vector<NodeId> pad_known(Node& n, const Padding& p, NodeId value) {
  const std::string mode = n.string_attr("mode", "constant");
  const NodeId x = n.input(0);
  if (mode == "wrap") {
    return {wrapped(input(n, 0), p)};
  }
  relay::AttrArray width;
  for (std::size_t d = 0; d < p.before.size(); ++d) {
    width.emplace_back(relay::AttrArray{p.before[d], p.after[d]});
  }
  return {n.call("nn.pad", {x, value}, {{"pad_width", width}, {"pad_mode", mode}})};
}

std::vector<NodeId> convert_pad_attrs(Node& n) {
  const NodeId x = n.input(0);
  const Ints pads = n.has_attr("paddings") ? n.ints_attr("paddings") : n.need_ints_attr("pads");
  const NodeId value = n.scalar(n.float_attr("value", 0), n.dtype(x));
  return pad_known(n, padding(n, pads, range(0, n.rank(x))), value);
}

std::vector<NodeId> convert_pad(Node& n) {
  const NodeId x = n.input(0);
  const std::int64_t rank = n.rank(x);
  const Ints axes = n.has_input(3) ? n.need_ints(3, "a list of axes") : range(0, rank);
  const NodeId value = input_or(n, 2, 0, n.dtype(x)).reshape({});
  if (const auto pads = n.known_ints(1)) return pad_known(n, padding(n, *pads, axes), value);
  const auto result = n.declared_shape(0, rank);
  if (!result || n.has_input(3)) n.need_constant(1, "a list of pads");
  return {pad_gather(n, input(n, 1).slice(0, 0, rank), *result, n.string_attr("mode", "constant"))};
}

// With odd differences the longer part is at the end.
std::vector<NodeId> convert_center_crop_pad(Node& n) {
  const Value x = input(n, 0);
  const Ints target = n.need_ints(1, "a shape"), sizes = x.sizes();
  const Ints axes = n.ints_attr("axes", range(0, x.rank()));
  if (axes.size() != target.size()) n.invalid(Code::kShapeMismatch, "it needs one size an axis");
  Padding p{Ints(sizes.size(), 0), Ints(sizes.size(), 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<std::size_t>(n.axis(axes[i], x.rank()));
    if (target[i] < 0) n.invalid(Code::kBadDimension, "its shape has a negative size");
    const std::int64_t extra = target[i] - sizes[d];
    p.before[d] = extra < 0 ? -((-extra) / 2) : extra / 2;
    p.after[d] = extra - p.before[d];
  }
  return pad_known(n, p, x.number(0));
}

constexpr Converter kPadTable[] = {
    {"Pad", 1, convert_pad_attrs},
    {"Pad", 11, convert_pad},
    {"com.microsoft.Pad", 1, convert_pad},
    {"CenterCropPad", 18, convert_center_crop_pad},
};

}  // namespace

extern const std::span<const Converter> pad_converters;
const std::span<const Converter> pad_converters = kPadTable;

}  // namespace tessera::import
