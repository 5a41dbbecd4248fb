// SPDX-License-Identifier: Apache-2.0
// Pad and CenterCropPad.
#include "import/converters.h"
#include "import/indices.h"
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

// How much of a dimension comes before and after it; scalars that the run knows.
struct PadLine {
  Value begin, end;
  Value count;  // of the result
};

// The places of an operand that a padded dimension reads.
Value places(const PadLine& p, Value size, const std::string& mode) {
  const Value at = iota(p.count) - p.begin, last = size - 1.0;
  if (mode == "edge") return minimum(maximum(at, 0.0), last);
  if (mode == "wrap") {
    const Value cut = maximum(0.0 - p.begin, 0.0), cut_end = maximum(0.0 - p.end, 0.0);
    const Value left = maximum(size - cut - cut_end, 1.0);
    return cut + floor_mod(at - cut, left);
  }
  const Value phase = floor_mod(at, maximum(last * 2.0, 1.0));
  return minimum(phase, last * 2.0 - phase);
}

// The dimension with pads that come at run time: its elements are gathered.
Value padded(Value x, std::int64_t axis, const PadLine& p, const std::string& mode, Value value) {
  Node& n = x.node();
  const Value size = size_of(x, axis);
  if (mode != "constant") return take_checked(x, places(p, size, mode), axis);
  // The value lies after the elements.
  relay::AttrArray width(static_cast<std::size_t>(x.rank()), relay::AttrArray{0, 0});
  width[static_cast<std::size_t>(axis)] = relay::AttrArray{0, 1};
  const Value all(n, n.call("nn.pad", {x, value}, {{"pad_width", width}}));
  const Value at = iota(p.count) - p.begin;
  const Value is_after_begin = at >= 0.0, is_before_end = at < size;
  return all.take(where(is_after_begin && is_before_end, at, size), axis);
}

// Begins and ends of each dimension; nothing for one that is not padded.
std::vector<std::optional<PadLine>> lines_of_pads(Node& n, Value pads,
                                                  const std::optional<Ints>& axes) {
  const Value x = input(n, 0);
  const std::int64_t rank = x.rank(), count = pads.size(0) / 2;
  const std::int64_t num_axes = n.has_input(3) ? product(n.sizes(n.input(3))) : rank;
  if (pads.size(0) != 2 * num_axes) n.invalid(Code::kWrongAttribute, "it needs two pads an axis");
  const auto declared = n.declared_shape(0, rank);
  std::vector<std::optional<PadLine>> lines(static_cast<std::size_t>(rank));
  const auto set = [&](std::int64_t d, Value begin, Value end) {
    const Value result = declared ? size_of(n, Dim((*declared)[static_cast<std::size_t>(d)]))
                                  : begin + end + size_of(x, d);
    lines[static_cast<std::size_t>(d)] = {begin, end, result};
  };
  for (std::int64_t i = 0; axes && i < count; ++i) {
    const Value begin = pads.at(0, i), end = pads.at(0, count + i);
    set(n.axis((*axes)[static_cast<std::size_t>(i)], rank), begin, end);
  }
  for (std::int64_t d = 0; !axes && d < rank; ++d) {
    const Value given = floor_mod(list_input(n, 3).cast(kInt64), static_cast<double>(rank));
    const Value is_own = equal(given, static_cast<double>(d)), zero = pads.number(0);
    const auto own = [&](Value of) { return where(is_own, of, zero).sum({0}, false); };
    const Value begin = own(pads.slice(0, 0, count));
    set(d, begin, own(pads.slice(0, count, 2 * count)));
  }
  return lines;
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
  const auto axes = n.has_input(3) ? n.known_ints(3) : range(0, rank);
  const Value value = input_or(n, 2, 0, n.dtype(x)).reshape({});
  const auto pads = n.known_ints(1);
  if (pads && axes) return pad_known(n, padding(n, *pads, *axes), value);
  const std::string mode = n.string_attr("mode", "constant");
  Value y = input(n, 0);
  const auto lines = lines_of_pads(n, list_input(n, 1).cast(kInt64), axes);
  for (std::size_t d = 0; d < lines.size(); ++d) {
    if (lines[d]) y = padded(y, static_cast<std::int64_t>(d), *lines[d], mode, value);
  }
  return {y};
}

// A shape that comes at run time.
Value center_crop_pad(Node& n, const Ints& axes) {
  const Value target = list_input(n, 1).cast(kInt64);
  const auto declared = n.declared_shape(0, n.rank(n.input(0)));
  Value y = input(n, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = n.axis(axes[i], y.rank());
    const Value wanted = target.at(0, static_cast<std::int64_t>(i));
    const Value extra = wanted - size_of(y, axis), before = extra / 2.0;
    const Value count =
        declared ? size_of(n, Dim((*declared)[static_cast<std::size_t>(axis)])) : wanted;
    y = padded(y, axis, {before, extra - before, count}, "constant", y.number(0));
  }
  return y;
}

// With odd differences the longer part is at the end.
std::vector<NodeId> convert_center_crop_pad(Node& n) {
  const Value x = input(n, 0);
  const Ints axes = n.ints_attr("axes", range(0, x.rank()));
  const auto known = n.known_ints(1);
  if (!known) return {center_crop_pad(n, axes)};
  const Ints& target = *known;
  const Ints sizes = x.sizes();
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
