// SPDX-License-Identifier: Apache-2.0
#include "ops/records/resize_taps.h"

#include <algorithm>
#include <cmath>

#include "ops/evaluation/to_integer.h"

namespace tessera::ops {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct AxisRequest {
  std::int64_t size = 1, source = 1;
  double scale = 1, roi_begin = 0, roi_end = 1;
};

// The place in the operand that element i of the result looks at (ONNX Resize).
double coordinate(const AxisRequest& r, const std::string& mode, double i) {
  const auto length = static_cast<double>(r.source);
  const double resized = r.scale * length;
  if (mode == "asymmetric") return i / r.scale;
  if (mode == "align_corners") return resized == 1 ? 0 : i * (length - 1) / (resized - 1);
  if (mode == "pytorch_half_pixel") return resized > 1 ? (i + 0.5) / r.scale - 0.5 : -0.5;
  if (mode == "tf_half_pixel_for_nn") return (i + 0.5) / r.scale;
  if (mode == "tf_crop_and_resize") {
    if (r.size <= 1) return 0.5 * (r.roi_begin + r.roi_end) * (length - 1);
    return r.roi_begin * (length - 1) +
           i * (r.roi_end - r.roi_begin) * (length - 1) / (static_cast<double>(r.size) - 1);
  }
  return (i + 0.5) / r.scale - 0.5;  // half_pixel
}

double rounded(double x, const std::string& method) {
  if (method == "floor") return std::floor(x);
  if (method == "ceil") return std::ceil(x);
  if (method == "round_prefer_ceil") return std::floor(x + 0.5);
  return std::ceil(x - 0.5);  // round_prefer_floor
}

// Keys' kernel at the four places around a fraction.
std::vector<double> cubic_weights(double fraction, double a) {
  const auto near = [&](double t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };
  const auto far = [&](double t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; };
  return {far(fraction + 1), near(fraction), near(1 - fraction), far(2 - fraction)};
}

// Scales are any numbers: what is beyond all tensors is so still, and its neighbours have numbers.
std::int64_t bounded_place(double x) { return to_integer(std::clamp(x, -0x1p60, 0x1p60)); }

// Places and weights before places are brought into the tensor.
void find_taps(const ResizeAttrs& p, double x, Ints& places, std::vector<double>& weights) {
  if (p.method == "nearest") {
    places.push_back(bounded_place(rounded(x, p.rounding_method)));
    weights.push_back(1);
    return;
  }
  const double below = std::floor(x);
  const double fraction = x - below;
  const std::int64_t first = bounded_place(below);
  if (p.method == "linear") {
    places.insert(places.end(), {first, first + 1});
    weights.insert(weights.end(), {1 - fraction, fraction});
    return;
  }
  places.insert(places.end(), {first - 1, first, first + 1, first + 2});
  const std::vector<double> w = cubic_weights(fraction, p.cubic_alpha);
  weights.insert(weights.end(), w.begin(), w.end());
}

// With cubic_exclude places outside weigh nothing and the others sum to one.
void exclude_outside(AxisTaps& taps) {
  for (std::int64_t i = 0; i < taps.size; ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < taps.count; ++k) {
      double& w = taps.weights[i * taps.count + k];
      if (taps.place(i, k) < 0 || taps.place(i, k) >= taps.source) w = 0;
      sum += w;
    }
    for (std::int64_t k = 0; k < taps.count; ++k) taps.weights[i * taps.count + k] /= sum;
  }
}

AxisTaps axis_taps(const ResizeAttrs& p, const AxisRequest& r) {
  AxisTaps taps;
  taps.size = r.size;
  taps.source = r.source;
  if (r.size == r.source && r.scale == 1 &&
      p.coordinate_transformation_mode != "tf_crop_and_resize") {
    for (std::int64_t i = 0; i < r.size; ++i) taps.places.push_back(i);
    taps.weights.assign(static_cast<std::size_t>(r.size), 1);
    taps.outside.assign(static_cast<std::size_t>(r.size), false);
    return taps;
  }
  taps.count = p.method == "nearest" ? 1 : p.method == "linear" ? 2 : 4;
  for (std::int64_t i = 0; i < r.size; ++i) {
    const double x = coordinate(r, p.coordinate_transformation_mode, static_cast<double>(i));
    taps.outside.push_back(p.coordinate_transformation_mode == "tf_crop_and_resize" &&
                           (x < 0 || x > static_cast<double>(r.source - 1)));
    find_taps(p, x, taps.places, taps.weights);
  }
  if (p.method == "cubic" && p.cubic_exclude) exclude_outside(taps);
  for (std::int64_t& place : taps.places) place = std::clamp<std::int64_t>(place, 0, r.source - 1);
  return taps;
}

}  // namespace

bool AxisTaps::has_outside() const {
  return std::find(outside.begin(), outside.end(), true) != outside.end();
}

bool AxisTaps::is_identity() const {
  if (size != source || count != 1) return false;
  for (std::int64_t i = 0; i < size; ++i) {
    if (place(i, 0) != i) return false;
  }
  return true;
}

TensorExpr AxisTaps::place_table() const {
  return tir::constant_tensor("places", tensor_from_ints({size, count}, kInt64, places));
}
TensorExpr AxisTaps::weight_table(DType dtype) const {
  return tir::constant_tensor("weights", tensor_from_doubles({size, count}, dtype, weights));
}
TensorExpr AxisTaps::outside_table() const {
  const Ints flags(outside.begin(), outside.end());
  return tir::constant_tensor("outside", tensor_from_ints({size}, kInt64, flags));
}

std::vector<AxisTaps> resize_taps(const ResizeAttrs& p, const Ints& shape) {
  std::vector<AxisTaps> taps;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    AxisRequest r{p.size[d], shape[d],
                  static_cast<double>(p.size[d]) / static_cast<double>(shape[d])};
    if (!p.scales.empty()) r.scale = p.scales[d];
    if (!p.roi.empty()) {
      r.roi_begin = p.roi[d];
      r.roi_end = p.roi[shape.size() + d];
    }
    taps.push_back(axis_taps(p, r));
  }
  return taps;
}

Result<void> expect_float_or_nearest(const relay::InferArgs& args, const ResizeAttrs& p) {
  if (!is_one_of(p.method, {"nearest", "linear", "cubic"})) {
    return refuse(args, Code::kWrongAttribute, "has method \"{}\"; it is nearest, linear or cubic",
                  p.method);
  }
  if (!is_one_of(p.coordinate_transformation_mode,
                 {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                  "tf_half_pixel_for_nn", "tf_crop_and_resize"})) {
    return refuse(args, Code::kWrongAttribute,
                  "does not know the coordinate_transformation_mode \"{}\"",
                  p.coordinate_transformation_mode);
  }
  if (!is_one_of(p.rounding_method, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})) {
    return refuse(args, Code::kWrongAttribute, "does not know the rounding_method \"{}\"",
                  p.rounding_method);
  }
  if (p.method == "nearest") return {};
  return expect_float(args, 0);
}

}  // namespace tessera::ops
