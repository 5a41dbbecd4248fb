// SPDX-License-Identifier: Apache-2.0
// Content hashes (xxHash3, 128 bits): the same on every machine, so they may reach files and names.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

struct Hash128 {
  std::uint64_t high = 0, low = 0;
  auto operator<=>(const Hash128&) const = default;
  std::string hex() const;  // 32 lower-case digits
};

Hash128 hash_bytes(std::span<const std::byte> bytes);
Hash128 hash_text(std::string_view text);

// Mixes a value into a running 64-bit hash; order matters.
inline std::uint64_t hash_combine(std::uint64_t seed, std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15ull;
  value ^= value >> 32;
  seed ^= value + 0x9e3779b97f4a7c15ull + (seed << 12) + (seed >> 4);
  return seed * 0xff51afd7ed558ccdull;
}

}  // namespace tessera
