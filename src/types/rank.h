// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tessera {

// The most of a tensor and of a buffer of the loop IR. Indices nest as deep as these dimensions.
inline constexpr std::int64_t kMostDimensions = 64;

}  // namespace tessera
