// SPDX-License-Identifier: Apache-2.0
// What quantising and quantised operators share: numbers on a grid, x = (q - zero) * scale.
#pragma once

#include "import/value.h"

namespace tessera::import {

// Whole numbers in float32 as integers: what lies beyond their limits becomes those.
Value saturate(Value whole, DType to);

// round(scaled) + zero, saturated; the zero point is float32. Half goes to the even number.
Value quantize(Value scaled, Value zero, DType to);

// One number for a whole tensor, as float32: 0 for a zero point that is not given.
Value number_of(Node& n, std::size_t i);

// An error if zero points are given and are not of the type of the values: they could be numbers
// that none of those can have.
void expect_zero_points_of(Node& n, std::size_t zero, std::size_t values);

struct Quantized {
  Value values, scale, zero;
};
// To uint8, by the least and the greatest element.
Quantized quantize_by_range(Value x);

// ---- Products ----
// A quantised operand without its zero point, as int32. Zero points of rows or columns have the
// dimensions that broadcast.
Value shifted(Node& n, std::size_t i, std::size_t zero, bool of_rows);
// The scale of B: of all of it, or of each column.
Value column_scale(Node& n, std::size_t i, std::int64_t rank);
// The sum of products as a real number, with a bias if one is given.
Value dequantized_sum(Value sum, Value scale_a, std::size_t scale_b, std::size_t bias);

}  // namespace tessera::import
