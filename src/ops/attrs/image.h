// SPDX-License-Identifier: Apache-2.0
// Attributes of resampling.
#pragma once

#include "relay/attributes.h"

namespace tessera::ops {

// ONNX Resize in full; every dimension of the operand has an entry in the lists.
struct ResizeAttrs {
  std::vector<std::int64_t> size;  // of the result
  std::vector<double> scales;      // empty: size / operand's size
  std::vector<double> roi;         // all begins, all ends, as fractions; empty: everything
  std::string method = "linear";   // nearest, linear, cubic
  std::string coordinate_transformation_mode = "half_pixel";
  std::string rounding_method = "round_prefer_floor";  // of nearest
  double cubic_alpha = -0.75;
  bool cubic_exclude = false;      // places outside have weight 0
  double extrapolation_value = 0;  // outside of the roi in mode tf_crop_and_resize
  static constexpr auto fields = std::tuple{
      relay::required_attr("size", &ResizeAttrs::size),
      relay::attr("scales", &ResizeAttrs::scales),
      relay::attr("roi", &ResizeAttrs::roi),
      relay::attr("method", &ResizeAttrs::method),
      relay::attr("coordinate_transformation_mode", &ResizeAttrs::coordinate_transformation_mode),
      relay::attr("rounding_method", &ResizeAttrs::rounding_method),
      relay::attr("cubic_alpha", &ResizeAttrs::cubic_alpha),
      relay::attr("cubic_exclude", &ResizeAttrs::cubic_exclude),
      relay::attr("extrapolation_value", &ResizeAttrs::extrapolation_value)};
};
}  // namespace tessera::ops
