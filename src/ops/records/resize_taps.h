// SPDX-License-Identifier: Apache-2.0
// Where an element of a resampled dimension comes from: a few places of the operand with weights.
#pragma once

#include <vector>

#include "ops/attrs/image.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"

namespace tessera::ops {

struct AxisTaps {
  std::int64_t size = 0;    // of the result
  std::int64_t source = 0;  // of the operand
  std::int64_t count = 1;   // of taps
  Ints places;              // [size][count], within the operand
  std::vector<double> weights;
  std::vector<bool> outside;  // beyond the region of interest

  std::int64_t place(std::int64_t i, std::int64_t k) const { return places[i * count + k]; }
  double weight(std::int64_t i, std::int64_t k) const { return weights[i * count + k]; }
  bool is_outside(std::int64_t i) const { return outside[i]; }
  bool has_outside() const;
  bool is_identity() const;

  TensorExpr place_table() const;              // int64[size, count]
  TensorExpr weight_table(DType dtype) const;  // [size, count]
  TensorExpr outside_table() const;            // int64[size]
};

// One for each dimension. Needs attributes that expect_float_or_nearest has accepted.
std::vector<AxisTaps> resize_taps(const ResizeAttrs& p, const Ints& shape);

// Method and modes are known, and integers are not interpolated.
Result<void> expect_float_or_nearest(const relay::InferArgs& args, const ResizeAttrs& p);

}  // namespace tessera::ops
