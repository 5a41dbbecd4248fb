// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

namespace tessera::ops {

// A float as an integer, by truncation. What does not fit is undefined for loops; in `eval` it is
// bounded, and NaN is 0.
inline std::int64_t to_integer(double value) {
  if (std::isnan(value)) return 0;
  return value >= 0x1p63 ? INT64_MAX : static_cast<std::int64_t>(std::fmax(value, -0x1p63));
}

}  // namespace tessera::ops
