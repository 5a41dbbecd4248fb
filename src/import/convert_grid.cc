// SPDX-License-Identifier: Apache-2.0
// Sampling at computed places: GridSample, AffineGrid, RoiAlign, DeformConv.
#include <algorithm>
#include <cmath>

#include "import/converters.h"
#include "import/window.h"

namespace tessera::import {
namespace {

struct GridForm {
  std::string mode, padding;
  bool align_corners = false;
};

// [-1, 1] to places of a dimension.
Value denormalized(Value at, std::int64_t size, bool align_corners) {
  const auto count = static_cast<double>(size);
  if (align_corners) return (at + 1.0) * ((count - 1) / 2);
  return ((at + 1.0) * count - 1.0) / 2.0;
}

// Mirrored at the borders until it lies inside.
Value reflected(Value at, double low, double high) {
  if (high <= low) return at * 0.0;
  const double length = high - low;
  const Value phase = floor_mod((at - low).apply("abs"), 2 * length);
  return minimum(phase, 2 * length - phase) + low;
}

Value inside_border(const GridForm& f, Value at, std::int64_t size) {
  const auto last = static_cast<double>(size - 1);
  if (f.padding == "border") return minimum(maximum(at, 0.0), last);
  if (f.padding != "reflection") return at;
  const Value mirrored = f.align_corners ? reflected(at, 0, last) : reflected(at, -0.5, last + 0.5);
  return minimum(maximum(mirrored, 0.0), last);
}

// The elements of x (n, c, plane) at whole places of each spatial dimension (n, points each): (n,
// c, points), zero outside unless the padding moves them in.
Value fetch(const GridForm& f, Value x, const std::vector<Value>& at, const Ints& sizes) {
  std::optional<Value> place, outside;
  for (std::size_t d = 0; d < at.size(); ++d) {
    const auto last = static_cast<double>(sizes[d] - 1);
    const Value p = inside_border(f, at[d], sizes[d]), beyond = p < 0.0 || p > last;
    outside = outside ? *outside || beyond : beyond;
    // Integers from here on: of large planes float32 does not know every element.
    const Value bounded = where(p.apply("isnan"), p.number(0), minimum(maximum(p, 0.0), last));
    const Value whole = bounded.cast(kInt64);
    place = place ? *place * static_cast<double>(sizes[d]) + whole : whole;
  }
  Node& n = x.node();
  const Value index = place->expand_dims(1).apply("repeat", {{"repeats", x.size(1)}, {"axis", 1}});
  const Value y(n, n.call("gather", {x, index}, {{"axis", 2}}));
  return where(outside->expand_dims(1), y.number(0), y);
}

// Weights of the neighbours floor - taps / 2 + 1 ... of a place.
std::vector<Value> neighbour_weights(const std::string& mode, Value fraction) {
  if (mode == "linear") return {1.0 - fraction, fraction};
  constexpr double a = -0.75;
  const auto near = [](Value d) { return ((a + 2) * d - (a + 3)) * d * d + 1.0; };
  const auto far = [](Value d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(fraction + 1.0), near(fraction), near(1.0 - fraction), far(2.0 - fraction)};
}

Value sample(const GridForm& f, Value x, const std::vector<Value>& places, const Ints& sizes) {
  if (f.mode == "nearest") {
    std::vector<Value> whole;
    for (std::size_t d = 0; d < places.size(); ++d) {
      whole.push_back(inside_border(f, places[d], sizes[d]).apply("round"));
    }
    return fetch(f, x, whole, sizes);
  }
  std::vector<Value> base;
  std::vector<std::vector<Value>> weights;
  for (std::size_t d = 0; d < places.size(); ++d) {
    // A cubic filter reads around the place itself; only what it reads is moved inside.
    const Value p = f.mode == "cubic" ? places[d] : inside_border(f, places[d], sizes[d]);
    const Value floor = p.apply("floor");
    weights.push_back(neighbour_weights(f.mode, p - floor));
    base.push_back(f.mode == "cubic" ? floor - 1.0 : floor);
  }
  const std::size_t taps = weights[0].size();
  std::size_t combinations = 1;
  for (std::size_t d = 0; d < places.size(); ++d) combinations *= taps;
  std::optional<Value> sum;
  for (std::size_t c = 0; c < combinations; ++c) {
    std::vector<Value> at = base;
    std::optional<Value> weight;
    std::size_t rest = c;
    for (std::size_t d = 0; d < places.size(); ++d, rest /= taps) {
      at[d] = base[d] + static_cast<double>(rest % taps);
      weight = weight ? *weight * weights[d][rest % taps] : weights[d][rest % taps];
    }
    const Value y = fetch(f, x, at, sizes);
    const Value term = y * weight->expand_dims(1).cast(y.dtype());
    sum = sum ? *sum + term : term;
  }
  return *sum;
}

std::vector<NodeId> convert_grid_sample(Node& n) {
  const Value x = input(n, 0), grid = input(n, 1).cast(kFloat32).matched(0, x, 0);
  GridForm f{n.string_attr("mode", n.opset() < 20 ? "bilinear" : "linear"),
             n.string_attr("padding_mode", "zeros"), n.flag_attr("align_corners", false)};
  if (f.mode.starts_with("bi")) f.mode = f.mode.substr(2);
  const std::int64_t spatial = x.rank() - 2;
  if (spatial > 3) n.unsupported(fmt::format("an input of {} dimensions", x.rank()));
  if (grid.rank() != x.rank() || spatial < 1) {
    n.invalid(Code::kShapeMismatch, "its grid must have as many dimensions as its input");
  }
  Ints sizes;
  for (std::int64_t d = 0; d < spatial; ++d) sizes.push_back(x.size(d + 2));
  // The last dimension of a grid counts from the innermost one: x, y, z.
  std::vector<Value> places;
  for (std::int64_t d = 0; d < spatial; ++d) {
    const Value at = grid.at(grid.rank() - 1, spatial - 1 - d).merge(1, grid.rank() - 1);
    places.push_back(denormalized(at, sizes[static_cast<std::size_t>(d)], f.align_corners));
  }
  const Value y = sample(f, x.merge(2, x.rank()), places, sizes);
  Shape result = grid.shape();
  result.pop_back();
  result.insert(result.begin() + 1, x.dim(1));
  return {y.reshape_to(result)};
}

// (n, c, spatial...), or without c those that the model states for the result (n, spatial..., d).
Ints grid_size(Node& n) {
  if (const auto known = n.known_ints(1)) return *known;
  auto declared = n.declared_shape(0);
  if (!declared || declared->size() < 3) return n.need_ints(1, "a size");
  declared->pop_back();
  declared->insert(declared->begin() + 1, 1);
  return *declared;
}

// theta (n, d, d + 1) times the homogeneous places of the result, innermost dimension first.
std::vector<NodeId> convert_affine_grid(Node& n) {
  const Value theta = input(n, 0);
  const Ints size = grid_size(n);
  if (size.size() < 3 || theta.rank() != 3) {
    n.invalid(Code::kShapeMismatch,
              "its theta must have three dimensions, and its size 3 numbers or more");
  }
  if (std::ranges::any_of(size, [](std::int64_t s) { return s < 0; })) {
    n.invalid(Code::kBadDimension, "its size has a negative number");
  }
  const bool align = n.flag_attr("align_corners", false);
  const Ints spatial(size.begin() + 2, size.end());
  const auto rank = static_cast<std::int64_t>(spatial.size());
  const std::int64_t points = product(spatial);
  n.make_room(static_cast<double>(points) * static_cast<double>(rank + 1));
  std::vector<double> places;
  for (std::int64_t p = 0; p < points; ++p) {
    std::int64_t rest = p;
    for (std::int64_t d = rank; d-- > 0; rest /= spatial[static_cast<std::size_t>(d)]) {
      const auto count = static_cast<double>(spatial[static_cast<std::size_t>(d)]);
      const auto i = static_cast<double>(rest % spatial[static_cast<std::size_t>(d)]);
      places.push_back(align ? (count == 1 ? 0 : 2 * i / (count - 1) - 1)
                             : (2 * i + 1) / count - 1);
    }
    places.push_back(1);
  }
  const Value homogeneous = numbers(n, {1, points, rank + 1}, places, theta.dtype());
  Ints result = {size[0]};
  result.insert(result.end(), spatial.begin(), spatial.end());
  result.push_back(rank);
  return {homogeneous.matmul(theta.transpose({0, 2, 1})).reshape(result)};
}

// Places of the samples of one dimension of all regions: (regions, bins * samples).
struct RoiLine {
  Value at, outside;
};

RoiLine roi_line(Value rois, std::int64_t low, std::int64_t bins, std::int64_t samples,
                 double scale, double offset, std::int64_t size) {
  Node& n = rois.node();
  const Value begin = rois.slice(1, low, low + 1) * scale - offset;
  const Value end = rois.slice(1, low + 2, low + 3) * scale - offset;
  // Without the half-pixel offset regions are at least one element long.
  const Value length = offset == 0 ? maximum(end - begin, 1.0) : end - begin;
  const Value step = length / static_cast<double>(bins * samples);
  const Value k = iota(n, bins * samples, rois.dtype()).reshape({1, bins * samples}) + 0.5;
  const Value at = begin + k * step;
  const auto count = static_cast<double>(size);
  return {minimum(maximum(at, 0.0), count - 1), at < -1.0 || at > count};
}

// With an explicit number of samples a bin; the adaptive one depends on the regions' data.
std::vector<NodeId> convert_roi_align(Node& n) {
  const Value x = input(n, 0), rois = input(n, 1);
  const Value batch = input(n, 2).cast(kInt64).matched(0, rois, 0);
  if (x.rank() != 4 || rois.rank() != 2 || batch.rank() != 1) {
    n.invalid(Code::kShapeMismatch,
              "it needs images of 4 dimensions, regions of 2 and places of 1");
  }
  const std::int64_t height = n.int_attr("output_height", 1), width = n.int_attr("output_width", 1);
  const std::int64_t samples = n.int_attr("sampling_ratio", 0);
  if (samples <= 0) n.unsupported("an adaptive sampling_ratio");
  for (const std::int64_t size : {height, width, samples}) {
    if (size < 1 || size > INT32_MAX) {
      n.invalid(Code::kWrongAttribute, fmt::format("it has {} rows, columns or samples", size));
    }
  }
  const double scale = n.float_attr("spatial_scale", 1);
  const bool max = n.string_attr("mode", "avg") == "max";
  const std::string form = n.string_attr("coordinate_transformation_mode",
                                         n.opset() < 16 ? "output_half_pixel" : "half_pixel");
  const double offset = form == "half_pixel" ? 0.5 : 0;
  const RoiLine ys = roi_line(rois, 1, height, samples, scale, offset, x.size(2));
  const RoiLine xs = roi_line(rois, 0, width, samples, scale, offset, x.size(3));
  const std::int64_t rows = height * samples, columns = width * samples;
  const auto plane = [&](Value v, bool of_rows) {
    const std::int64_t axis = of_rows ? 1 : 2;
    const Attrs times = {{"repeats", of_rows ? columns : rows}, {"axis", 3 - axis}};
    return v.expand_dims(3 - axis).apply("repeat", times).merge(1, 3);
  };
  const Value images = x.take(batch, 0).merge(2, 4);
  const GridForm border{"linear", "border", true};
  const Ints sizes = {x.size(2), x.size(3)};
  const std::vector<Value> places = {plane(ys.at, true), plane(xs.at, false)};
  const Value outside = (plane(ys.outside, true) || plane(xs.outside, false)).expand_dims(1);
  const Shape bins = {rois.dim(0), x.size(1), height, samples, width, samples};
  const Attrs over = {{"axis", Ints{3, 5}}};
  if (!max) {
    const Value y = sample(border, images, places, sizes);
    return {where(outside, y.number(0), y).reshape_to(bins).apply("mean", over)};
  }
  // The maximum is of the weighted neighbours, not of their sums.
  std::optional<Value> most;
  const Value fy = places[0] - places[0].apply("floor"), fx = places[1] - places[1].apply("floor");
  for (int corner = 0; corner < 4; ++corner) {
    const bool below = corner >= 2, right = corner % 2 == 1;
    const Value weight = (below ? fy : 1.0 - fy) * (right ? fx : 1.0 - fx);
    const Value y = fetch(border, images,
                          {places[0].apply("floor") + (below ? 1.0 : 0.0),
                           places[1].apply("floor") + (right ? 1.0 : 0.0)},
                          sizes);
    const Value term = y * weight.expand_dims(1);
    most = most ? maximum(*most, term) : term;
  }
  return {where(outside, most->number(0), *most).reshape_to(bins).apply("max", over)};
}

// ---- DeformConv ----

// Where the window's element k of each result lies without an offset along spatial dimension d, for
// all k and results: (1, taps * results).
Value window_places(Node& n, const Window& w, const Ints& result, std::size_t d, DType dtype) {
  std::vector<double> places;
  const std::int64_t taps = product(w.kernel), count = product(result);
  n.make_room(static_cast<double>(taps) * static_cast<double>(count));
  for (std::int64_t k = 0; k < taps; ++k) {
    const std::int64_t tap = d == 0 ? k / w.kernel[1] : k % w.kernel[1];
    for (std::int64_t p = 0; p < count; ++p) {
      const std::int64_t at = d == 0 ? p / result[1] : p % result[1];
      places.push_back(static_cast<double>(at * w.strides[d] - w.pads[d] + tap * w.dilations[d]));
    }
  }
  return numbers(n, {1, taps * count}, places, dtype);
}

// The elements that each result is a product of: (batch, channels, taps, results).
Value deformed(Value x, const Window& w, const Ints& result) {
  Node& n = x.node();
  const std::int64_t groups = n.int_attr("offset_group", 1), taps = product(w.kernel);
  const std::int64_t count = product(result);
  if (groups < 1 || x.size(1) % groups != 0) {
    n.invalid(Code::kWrongAttribute, "offset_group does not divide its channels");
  }
  const Dim batch = x.dim(0), parts = batch * Dim(groups);
  const Value offsets = input(n, 2).matched(0, x, 0).reshape_to({parts, taps, 2, count});
  std::vector<Value> places;
  for (std::size_t d = 0; d < 2; ++d) {
    const Value own = offsets.at(2, static_cast<std::int64_t>(d)).merge(1, 3);
    places.push_back(own + window_places(n, w, result, d, x.dtype()));
  }
  const Ints sizes = {x.size(2), x.size(3)};
  const Value images = x.reshape_to({parts, x.size(1) / groups, sizes[0] * sizes[1]});
  Value y = sample({"linear", "zeros", true}, images, places, sizes);
  if (n.has_input(4)) y = y * input(n, 4).matched(0, x, 0).reshape_to({parts, 1, taps * count});
  return y.reshape_to({batch, x.size(1), taps, count});
}

std::vector<NodeId> convert_deform_conv(Node& n) {
  const Value x = input(n, 0), weight = input(n, 1), offset = input(n, 2);
  if (x.rank() != 4 || offset.rank() != 4) n.unsupported("an input that is no batch of images");
  const Window w = read_steps(n, kernel_of(x, weight));
  const Ints result = {offset.size(2), offset.size(3)};
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t room = x.size(static_cast<std::int64_t>(d) + 2) + w.pads[d] + w.pads[d + 2] -
                              (w.kernel[d] - 1) * w.dilations[d] - 1;
    if (room < 0 || room / w.strides[d] + 1 != result[d]) {
      n.invalid(Code::kShapeMismatch, "its offsets are not of as many places as its result has");
    }
  }
  const std::int64_t groups = groups_of(n), outputs = weight.size(0);
  if (outputs % groups != 0 || weight.size(1) * groups != x.size(1)) {
    n.invalid(Code::kShapeMismatch, "its groups do not fit its input and weight");
  }
  const std::int64_t depth = weight.size(1) * product(w.kernel);
  const Value columns =
      deformed(x, w, result).reshape_to({x.dim(0), groups, depth, product(result)});
  const Value rows = weight.reshape({1, groups, outputs / groups, depth});
  const Value y = rows.matmul(columns).reshape_to({x.dim(0), outputs, result[0], result[1]});
  if (!n.has_input(3)) return {y};
  return {n.call("nn.bias_add", {y, n.input(3)}, {{"axis", 1}})};
}

constexpr Converter kGridTable[] = {
    {"GridSample", 16, convert_grid_sample},
    {"AffineGrid", 20, convert_affine_grid},
    {"RoiAlign", 10, convert_roi_align},
    {"DeformConv", 19, convert_deform_conv},
};

}  // namespace

extern const std::span<const Converter> grid_converters;
const std::span<const Converter> grid_converters = kGridTable;

}  // namespace tessera::import
