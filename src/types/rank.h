// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tessera {

// Of a tensor, and of a buffer of the loop IR. Indices are nested as deep as these have dimensions.
inline constexpr std::int64_t kMostDimensions = 64;

}  // namespace tessera
