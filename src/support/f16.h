// SPDX-License-Identifier: Apache-2.0
// IEEE half precision and bfloat16 as bit patterns. Narrowing rounds once, to nearest even, from
// the double, so no value is rounded twice; NaN stays NaN (quiet), overflow becomes infinity.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace tessera {

// The bits of `value` in a format with the given field widths (sign bit on top).
template <int kExponentBits, int kMantissaBits>
constexpr std::uint16_t narrow_float(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 63) << (kExponentBits + kMantissaBits));
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  const std::uint64_t mantissa = bits & ((1ull << 52) - 1);
  constexpr int kMaxExponent = (1 << kExponentBits) - 1;
  constexpr std::uint16_t kInfinity = kMaxExponent << kMantissaBits;
  if (exponent == 0x7ff) {
    if (mantissa == 0) return sign | kInfinity;
    const auto payload = static_cast<std::uint16_t>(mantissa >> (52 - kMantissaBits));
    return static_cast<std::uint16_t>(sign | kInfinity | payload | (1u << (kMantissaBits - 1)));
  }
  if (exponent == 0) return sign;  // zero, or far below the smallest subnormal of either format
  int target = exponent - 1023 + (kMaxExponent >> 1);
  if (target >= kMaxExponent) return sign | kInfinity;
  int shift = 52 - kMantissaBits;
  if (target <= 0) {  // subnormal: the leading one becomes an explicit digit
    shift += 1 - target;
    target = 1;
    if (shift > 54) return sign;
  }
  const std::uint64_t full = mantissa | (1ull << 52);
  std::uint64_t kept = full >> shift;
  const std::uint64_t rest = full & ((1ull << shift) - 1);
  const std::uint64_t half = 1ull << (shift - 1);
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // A carry out of the mantissa runs into the exponent, as it should, up to infinity.
  return static_cast<std::uint16_t>(
      sign | ((static_cast<std::uint64_t>(target - 1) << kMantissaBits) + kept));
}

constexpr std::uint16_t float16_bits(double value) { return narrow_float<5, 10>(value); }
constexpr std::uint16_t bfloat16_bits(double value) { return narrow_float<8, 7>(value); }

// The bits of many values, which are written to `out`, one each; the same as one by one.
void to_float16(std::span<const float> values, std::uint16_t* out);
void to_bfloat16(std::span<const float> values, std::uint16_t* out);

constexpr float float16_value(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1f;
  const std::uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in float
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 0x1f ? 0xff : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

constexpr float bfloat16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace tessera
