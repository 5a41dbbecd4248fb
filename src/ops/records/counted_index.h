// SPDX-License-Identifier: Apache-2.0
// Places along a dimension that come from data. Negative ones count from the end; what is outside
// is the nearest element, so that no data lead out of a tensor.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/records/definition.h"

namespace tessera::ops {

inline std::int64_t counted_index(std::int64_t i, std::int64_t size) {
  return std::clamp<std::int64_t>(i < 0 ? i + size : i, 0, std::max<std::int64_t>(size - 1, 0));
}

// `i` is an int64.
inline Expr counted_index(const Expr& i, const Expr& size) {
  return tir::max(tir::min(tir::select(tir::lt(i, 0), i + size, i), size - 1), 0);
}

}  // namespace tessera::ops
