// SPDX-License-Identifier: Apache-2.0
// Sorting along one axis. NaN counts as greater than every number; equal elements keep their order.
#pragma once

#include "ops/attrs/index.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {

struct SortOrder {
  std::int64_t axis = 0;  // from the front
  bool is_ascend = true;
};

// The places along the axis in sorted order, as a tensor of the operand's shape, row-major.
Elements<std::int64_t> sorted_places(const Tensor& data, const SortOrder& order);
// Elements of data at `places` (of result shape `shape`) along the axis.
Tensor taken_along(const Tensor& data, const Elements<std::int64_t>& places, const Ints& shape,
                   std::int64_t axis);

// The same as definitions: rank[i] counts the elements that come before element i, and the place of
// rank r is the i with rank[i] = r. Quadratic in the axis, but a loop nest like any other.
TensorExpr sorted_places(const TensorExpr& data, const SortOrder& order,
                         const std::vector<Expr>& shape);
TensorExpr taken_along(const TensorExpr& data, const TensorExpr& places, std::int64_t axis);

}  // namespace tessera::ops
