// SPDX-License-Identifier: Apache-2.0
// The binary form of an array in the metadata section: magic, zero, device, rank, dtype, shape,
// size, data; little endian.
#pragma once

#include <cstdint>

namespace tessera::relay {

inline constexpr std::uint64_t kArrayMagic = 0xDD5E40F096B4A13Full;
// There a bool is an unsigned integer of one bit.
inline constexpr std::uint8_t kOldBoolCode = 1, kOldBoolBits = 1;

}  // namespace tessera::relay
