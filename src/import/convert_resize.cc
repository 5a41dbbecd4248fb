// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample: dimension by dimension, a few neighbours are taken and weighted. Places and
// weights are constants where the scales are.
#include <cmath>

#include "import/converters.h"
#include "import/indices.h"
#include "import/value.h"

namespace tessera::import {
namespace {

struct ResizeForm {
  std::string mode, coordinates, nearest;
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

ResizeForm read_form(Node& n) {
  ResizeForm f;
  f.mode = n.string_attr("mode", "nearest");
  if (f.mode == "bilinear" || f.mode == "trilinear") f.mode = "linear";
  f.coordinates =
      n.string_attr("coordinate_transformation_mode", n.opset() < 11 ? "asymmetric" : "half_pixel");
  f.nearest = n.string_attr("nearest_mode", n.opset() < 11 ? "floor" : "round_prefer_floor");
  f.cubic_a = n.float_attr("cubic_coeff_a", -0.75);
  f.extrapolation = n.float_attr("extrapolation_value", 0);
  f.exclude_outside = n.flag_attr("exclude_outside", false);
  f.antialias = n.flag_attr("antialias", false);
  if (f.mode != "nearest" && f.mode != "linear" && f.mode != "cubic") {
    n.invalid(Code::kWrongAttribute, fmt::format("it has no mode \"{}\"", f.mode));
  }
  return f;
}

// One dimension of the operand: its sizes and its scale as float32 scalars.
struct Line {
  std::int64_t axis;
  Value count;     // of the result, int64
  Value from, to;  // of the operand and the result
  Value scale;
  Value begin, end;  // of the region, in [0, 1]

  Value last() const { return from - 1.0; }
};

// `single` where the result has one element only, else `several`.
Value by_count(const Line& l, Value single, Value several) {
  const auto known = l.count.node().constant(l.count);
  if (known) return element_as_int(*known, 0) == 1 ? single : several;
  return where(equal(l.to, 1.0), single, several);
}

// Where each element of the result lies in the operand.
Value origins(const ResizeForm& f, const Line& l) {
  Node& n = l.scale.node();
  const Value at = iota(l.count, kFloat32);
  if (f.coordinates == "asymmetric") return at / l.scale;
  if (f.coordinates == "align_corners") {
    // The size before it was rounded, as ONNX's reference has it.
    return by_count(l, at * 0.0, at * l.last() / (l.scale * l.from - 1.0));
  }
  if (f.coordinates == "tf_half_pixel_for_nn") return (at + 0.5) / l.scale;
  if (f.coordinates == "tf_crop_and_resize") {
    return by_count(l, at * 0.0 + (l.begin + l.end) * (0.5 * l.last()),
                    l.begin * l.last() + at * ((l.end - l.begin) * (l.last() / (l.to - 1.0))));
  }
  const Value half_pixel = (at + 0.5) / l.scale - 0.5;
  if (f.coordinates == "pytorch_half_pixel") return by_count(l, at * 0.0, half_pixel);
  if (f.coordinates == "half_pixel_symmetric") {
    // The middle of the operand stays in the middle where the result's size was rounded.
    return half_pixel + (1.0 - l.to / (l.scale * l.from)) * (l.from / 2.0);
  }
  if (f.coordinates != "half_pixel") {
    n.invalid(Code::kWrongAttribute,
              fmt::format("it has no coordinate_transformation_mode \"{}\"", f.coordinates));
  }
  return half_pixel;
}

Value nearest_place(const ResizeForm& f, Value at) {
  if (f.nearest == "floor") return at.apply("floor");
  if (f.nearest == "ceil") return at.apply("ceil");
  if (f.nearest == "round_prefer_ceil") return (at + 0.5).apply("floor");
  return (at - 0.5).apply("ceil");  // round_prefer_floor
}

// The weight of a neighbour at `distance` >= 0.
Value weight(const ResizeForm& f, Value distance) {
  if (f.mode == "linear") return maximum(1.0 - distance, 0.0);
  const double a = f.cubic_a;
  const Value d = distance;
  const Value near = ((a + 2) * d - (a + 3)) * d * d + 1.0;
  const Value far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return where(d <= 1.0, near, where(d < 2.0, far, d * 0.0));
}

// The neighbours' places, and their weights, which add up to one: (taps, to).
struct Taps {
  Value places, weights;
};

// How far the filter of antialias is stretched over the operand, and the most that this can be.
struct Stretch {
  Value by;
  double most;
};
Stretch stretched(const Line& l) {
  Node& n = l.scale.node();
  if (const auto scale = n.constant(l.scale)) {
    const double by = std::max(1.0, 1 / element_as_double(*scale, 0));
    return {Value(n, n.scalar(by, kFloat32)), by};
  }
  // The size of the result is the operand's times the scale, rounded down.
  const auto from = n.constant(l.from), to = n.constant(l.to);
  if (!from || !to) n.unsupported("antialias with a scale and sizes that are computed at run time");
  const double most = element_as_double(*from, 0) / std::max(element_as_double(*to, 0), 1.0);
  return {minimum(maximum(1.0 / l.scale, 1.0), std::max(most, 1.0)), std::max(most, 1.0)};
}

// Without antialias two or four neighbours; with it the filter is stretched over the operand.
Taps taps(const ResizeForm& f, const Line& l, Value at) {
  Node& n = at.node();
  const double reach = f.mode == "linear" ? 1 : 2;
  const Stretch stretch = f.antialias ? stretched(l) : Stretch{Value(n, n.scalar(1, kFloat32)), 1};
  const std::int64_t count = at.dim(0).as_constant().value_or(1);
  n.make_room(2 * reach * stretch.most * static_cast<double>(std::max<std::int64_t>(count, 1)));
  const auto side = static_cast<std::int64_t>(std::ceil(reach * stretch.most));
  Value offsets(n, n.ints(range(1 - side, side + 1)));
  offsets = offsets.cast(kFloat32).reshape({2 * side, 1});
  const Value places = at.apply("floor").expand_dims(0) + offsets;
  const Value distance = (places - at.expand_dims(0)).apply("abs") / stretch.by;
  Value weights = weight(f, distance);
  const Value last = l.last();
  if (f.exclude_outside) {
    weights = where(places >= 0.0 && places <= last, weights, weights * 0.0);
  }
  if (f.exclude_outside || f.antialias) weights = weights / weights.sum({0});
  return {minimum(maximum(places, 0.0), last).cast(kInt64), weights};
}

Value resize_line(const ResizeForm& f, const Line& l, Value x) {
  Node& n = x.node();
  const Value at = origins(f, l);
  const Value last = l.last();
  const auto shaped = [&](Value v) { return along(v, l.axis, x.rank()); };
  Value y = x;
  if (f.mode == "nearest") {
    y = x.take(minimum(maximum(nearest_place(f, at), 0.0), last).cast(kInt64), l.axis);
  } else {
    const Taps t = taps(f, l, at);
    std::vector<Value> sum;
    for (std::int64_t k = 0; k < t.places.size(0); ++k) {
      const Value term =
          x.take(t.places.at(0, k), l.axis) * shaped(t.weights.at(0, k).cast(x.dtype()));
      if (sum.empty())
        sum.push_back(term);
      else
        sum[0] = sum[0] + term;
    }
    y = sum[0];
  }
  if (f.coordinates != "tf_crop_and_resize") return y;
  const Value inside = at >= 0.0 && at <= last;
  return where(shaped(inside), y, Value(n, n.scalar(f.extrapolation, x.dtype())));
}

// The result's sizes, `?` where one is a size without a name times a scale; and a scale for each
// dimension, float32.
struct Target {
  Shape sizes;
  std::vector<Value> scales;
};

// The policies that keep the ratio of the sizes: one scale for all axes, sizes rounded.
Target keep_ratio(Node& n, const Ints& from, const Ints& to, const Ints& axes, bool not_larger) {
  Target target{Shape(from.begin(), from.end()),
                std::vector<Value>(from.size(), Value(n, n.scalar(1, kFloat32)))};
  const auto size_at = [&](std::size_t i) {
    return static_cast<double>(from[static_cast<std::size_t>(axes[i])]);
  };
  double one = static_cast<double>(to[0]) / size_at(0);
  for (std::size_t i = 1; i < axes.size(); ++i) {
    const double scale = static_cast<double>(to[i]) / size_at(i);
    one = not_larger ? std::min(one, scale) : std::max(one, scale);
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<std::size_t>(axes[i]);
    const double size = std::round(one * size_at(i));
    if (!(size >= 0) || !(size < 0x1p62)) {
      n.invalid(Code::kBadDimension, fmt::format("it is to give the size {}", size));
    }
    target.sizes[d] = static_cast<std::int64_t>(size);
    target.scales[d] = Value(n, n.scalar(one, kFloat32));
  }
  return target;
}

Target from_sizes(Node& n, const Shape& from, const Shape& to, const Ints& axes,
                  const std::string& policy) {
  if (to.size() != axes.size()) {
    n.invalid(Code::kWrongAttribute,
              fmt::format("it has {} sizes for {} axes", to.size(), axes.size()));
  }
  Target target{from, std::vector<Value>(from.size(), Value(n, n.scalar(1, kFloat32)))};
  const Value x = input(n, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<std::size_t>(axes[i]);
    if (to[i].is_constant() && to[i].constant() < 0) {
      n.invalid(Code::kBadDimension, fmt::format("it is to give the size {}", to[i].constant()));
    }
    target.sizes[d] = to[i];
    if (are_same({from[d]}, {to[i]})) continue;
    target.scales[d] = size_of(n, to[i]).cast(kFloat32) / size_of(x, axes[i]).cast(kFloat32);
  }
  if (policy == "stretch" || axes.empty()) return target;
  if (!constant_shape(from) || !constant_shape(to)) {
    n.unsupported(fmt::format("the keep_aspect_ratio_policy \"{}\" with open sizes", policy));
  }
  return keep_ratio(n, *constant_shape(from), *constant_shape(to), axes, policy == "not_larger");
}

// The size times the scale, rounded down. A scale is a whole number divided by a power of two.
Dim scaled(Node& n, const Dim& size, double scale, std::size_t d) {
  if (const auto known = size.as_constant()) {
    const double result = std::floor(static_cast<double>(*known) * scale);
    if (scale > 0 && result < 0x1p62) return Dim(static_cast<std::int64_t>(result));
  }
  if (!(scale > 0) || size.is_constant()) {
    n.invalid(Code::kWrongAttribute, fmt::format("the scale of dimension {} is {}; a scale is a "
                                                 "positive number and gives a size of 64 bits",
                                                 d, scale));
  }
  constexpr double kMost = 0x1p31;  // its product with a size fits 64 bits
  double divisor = 1;
  while (scale * divisor != std::floor(scale * divisor) && divisor < kMost) divisor *= 2;
  if (divisor == kMost || scale * divisor > kMost) {
    n.unsupported(fmt::format("a scale of {} for a dimension of open size", scale));
  }
  return floor_div(size * Dim(static_cast<std::int64_t>(scale * divisor)),
                   Dim(static_cast<std::int64_t>(divisor)));
}

// The same of a size that is known at run time.
Value scaled(Value size, Value scale) {
  return (size.cast(kFloat64) * scale.cast(kFloat64)).apply("floor").cast(kInt64);
}

Target from_scales(Node& n, const Shape& from, Value given, const Ints& axes) {
  Target target{from, std::vector<Value>(from.size(), Value(n, n.scalar(1, kFloat32)))};
  const auto known = n.constant(given);
  if (!known) {
    const auto declared = n.declared_shape(0, static_cast<std::int64_t>(from.size()));
    if (!declared) n.unsupported("a scale that is computed at run time");
    target.sizes.assign(declared->begin(), declared->end());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      target.scales[static_cast<std::size_t>(axes[i])] = given.at(0, static_cast<std::int64_t>(i));
    }
    return target;
  }
  if (known->num_elements() != static_cast<std::int64_t>(axes.size())) {
    n.invalid(Code::kWrongAttribute,
              fmt::format("it has {} scales for {} axes", known->num_elements(), axes.size()));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<std::size_t>(axes[i]);
    const double scale = element_as_double(*known, static_cast<std::int64_t>(i));
    target.scales[d] = Value(n, n.scalar(scale, kFloat32));
    if (scale != 1) target.sizes[d] = scaled(n, from[d], scale, d);
  }
  return target;
}

std::vector<NodeId> resize(Node& n, const ResizeForm& f, const Target& target,
                           const Value* region) {
  Value y = input(n, 0);
  const Shape from = y.shape();
  const std::int64_t rank = y.rank();
  for (std::int64_t d = 0; d < rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    const auto scale = n.constant(target.scales[i]);
    const bool unscaled = !scale || element_as_double(*scale, 0) == 1;
    const bool cropped = region != nullptr && f.coordinates == "tf_crop_and_resize" && d >= 2;
    if (from[i] == target.sizes[i] && unscaled && !cropped) continue;
    const Value begin =
        region != nullptr ? region->at(0, d).cast(kFloat32) : Value(n, n.scalar(0, kFloat32));
    const Value end = region != nullptr ? region->at(0, rank + d).cast(kFloat32)
                                        : Value(n, n.scalar(1, kFloat32));
    const Value size = size_of(y, d);
    const Value count =
        target.sizes[i].is_unknown() ? scaled(size, target.scales[i]) : size_of(n, target.sizes[i]);
    y = resize_line(
        f, {d, count, size.cast(kFloat32), count.cast(kFloat32), target.scales[i], begin, end}, y);
  }
  return {y};
}

bool is_given(Node& n, std::size_t i) { return n.has_input(i) && product(n.sizes(n.input(i))) > 0; }

// With sizes that come at run time the result has those that the model states.
Target from_stated_sizes(Node& n, const Shape& from, const Ints& axes, const std::string& policy) {
  const auto declared = n.declared_shape(0, static_cast<std::int64_t>(from.size()));
  if (!declared) n.need_constant(3, "a list of sizes");
  const Value x = input(n, 0), given = list_input(n, 3).cast(kFloat32);
  Target target{Shape(declared->begin(), declared->end()),
                std::vector<Value>(from.size(), Value(n, n.scalar(1, kFloat32)))};
  std::optional<Value> one;  // of all axes, where their ratio is kept
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Value size = size_of(x, axes[i]).cast(kFloat32);
    const Value scale = given.at(0, static_cast<std::int64_t>(i)) / size;
    target.scales[static_cast<std::size_t>(axes[i])] = scale;
    if (one) one = policy == "not_larger" ? minimum(*one, scale) : maximum(*one, scale);
    if (!one) one = scale;
  }
  if (policy == "stretch") return target;
  for (const std::int64_t axis : axes) target.scales[static_cast<std::size_t>(axis)] = *one;
  return target;
}

// Begins and ends for all dimensions, of those for some.
Value whole_region(Value region, const Ints& axes, std::int64_t rank) {
  Node& n = region.node();
  const auto count = static_cast<std::int64_t>(axes.size());
  std::vector<Value> places(static_cast<std::size_t>(rank), numbers(n, {1}, {0}, region.dtype()));
  places.resize(2 * places.size(), numbers(n, {1}, {1}, region.dtype()));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t axis = axes[static_cast<std::size_t>(i)];
    places[static_cast<std::size_t>(axis)] = region.slice(0, i, i + 1);
    places[static_cast<std::size_t>(rank + axis)] = region.slice(0, count + i, count + i + 1);
  }
  return concat(n, places, 0);
}

std::vector<NodeId> convert_resize(Node& n) {
  const ResizeForm f = read_form(n);
  const Shape from = n.shape(n.input(0));
  const std::int64_t rank = n.rank(n.input(0));
  Ints axes = n.ints_attr("axes", range(0, rank));
  for (std::int64_t& a : axes) a = n.axis(a, rank);
  const std::string policy = n.string_attr("keep_aspect_ratio_policy", "stretch");
  const bool sized = is_given(n, 3), scaled = is_given(n, 2);
  if (!sized && !scaled) n.invalid(Code::kWrongArity, "it needs scales or sizes");
  const auto sizes = sized ? n.known_sizes(3) : std::nullopt;
  const Target target = sizes   ? from_sizes(n, from, *sizes, axes, policy)
                        : sized ? from_stated_sizes(n, from, axes, policy)
                                : from_scales(n, from, list_input(n, 2).cast(kFloat32), axes);
  if (!is_given(n, 1)) return resize(n, f, target, nullptr);
  const Value region = whole_region(list_input(n, 1), axes, rank);
  return resize(n, f, target, &region);
}

std::vector<NodeId> convert_resize10(Node& n) {
  const ResizeForm f = read_form(n);
  const Shape from = n.shape(n.input(0));
  const Value scales = list_input(n, 1).cast(kFloat32);
  return resize(n, f, from_scales(n, from, scales, range(0, n.rank(n.input(0)))), nullptr);
}

std::vector<NodeId> convert_upsample(Node& n) {
  const ResizeForm f = read_form(n);
  const Shape from = n.shape(n.input(0));
  const auto given = n.floats_attr("scales");
  if (given.size() != from.size())
    n.invalid(Code::kWrongAttribute, "it needs one scale a dimension");
  const Value scales = numbers(n, {static_cast<std::int64_t>(given.size())}, given, kFloat32);
  return resize(n, f, from_scales(n, from, scales, range(0, n.rank(n.input(0)))), nullptr);
}

constexpr Converter kResizeTable[] = {
    {"Upsample", 7, convert_upsample},
    {"Upsample", 9, convert_resize10},
    {"Resize", 10, convert_resize10},
    {"Resize", 11, convert_resize},
};

}  // namespace

extern const std::span<const Converter> resize_converters;
const std::span<const Converter> resize_converters = kResizeTable;

}  // namespace tessera::import
