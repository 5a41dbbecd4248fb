// SPDX-License-Identifier: Apache-2.0
// Vectorised loops that add pairs of products of bfloat16 to sums of float32, or of int16 to sums
// of int32: CPUs do that in one instruction, which C++ compilers do not find by themselves.
#pragma once

#include <optional>

#include "emit/lane_places.h"

namespace tessera::emit {

// For each lane l: acc[l] += a[0] * b[2 l] + a[1] * b[2 l + 1]
struct ProductLoop {
  std::int64_t lanes = 0;
  LanePlace acc, a, b;  // of the first element
};
std::optional<ProductLoop> as_product_loop(const tir::For& loop, const tir::Bounds& bounds);

}  // namespace tessera::emit
