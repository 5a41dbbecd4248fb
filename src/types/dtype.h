// SPDX-License-Identifier: Apache-2.0
// Data types. Codes are DLPack's; text is Relay's (`float32`, `uint8`, `bool`, `int8x4`).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

enum class TypeCode : std::uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kHandle = 3,
  kBFloat = 4,
  kBool = 6
};

struct DType {
  TypeCode code = TypeCode::kFloat;
  std::uint8_t bits = 32;  // of one lane; a bool has 8
  std::uint16_t lanes = 1;

  auto operator<=>(const DType&) const = default;
  constexpr std::int64_t size_bytes() const { return (bits * lanes + 7) / 8; }
  constexpr bool is_float() const { return code == TypeCode::kFloat || code == TypeCode::kBFloat; }
  constexpr bool is_int() const { return code == TypeCode::kInt || code == TypeCode::kUInt; }
  constexpr bool is_signed_int() const { return code == TypeCode::kInt; }
  constexpr bool is_unsigned_int() const { return code == TypeCode::kUInt; }
  // An integer of eight bits; a bool is none.
  constexpr bool is_byte() const { return is_int() && bits == 8 && lanes == 1; }
  constexpr bool is_bool() const { return code == TypeCode::kBool; }
  constexpr DType with_lanes(int n) const { return {code, bits, static_cast<std::uint16_t>(n)}; }
  constexpr DType element() const { return with_lanes(1); }

  static constexpr DType i(int bits) {
    return {TypeCode::kInt, static_cast<std::uint8_t>(bits), 1};
  }
  static constexpr DType u(int bits) {
    return {TypeCode::kUInt, static_cast<std::uint8_t>(bits), 1};
  }
  static constexpr DType f(int bits) {
    return {TypeCode::kFloat, static_cast<std::uint8_t>(bits), 1};
  }
};

inline constexpr DType kFloat16 = DType::f(16), kFloat32 = DType::f(32), kFloat64 = DType::f(64);
inline constexpr DType kBFloat16 = {TypeCode::kBFloat, 16, 1};
inline constexpr DType kInt8 = DType::i(8), kInt16 = DType::i(16), kInt32 = DType::i(32),
                       kInt64 = DType::i(64);
inline constexpr DType kUInt8 = DType::u(8), kUInt16 = DType::u(16), kUInt32 = DType::u(32),
                       kUInt64 = DType::u(64);
inline constexpr DType kBool = {TypeCode::kBool, 8, 1};

std::string to_string(DType dtype);
// Reads to_string's text; also `uint1` as bool. Nothing for any other word.
std::optional<DType> parse_dtype(std::string_view text);

}  // namespace tessera
