// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine: distributions of the library are not.
#pragma once

#include <cstdint>
#include <random>
#include <string_view>

#include "support/hash.h"

namespace tessera::fuzz {

class Random {
 public:
  explicit Random(std::uint64_t seed) : random_(seed) {}
  std::uint64_t bits() { return random_(); }
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  template <class T>
  const auto& among(const T& items) {
    return items[random_() % std::size(items)];
  }

 private:
  std::mt19937_64 random_;
};

// A seed for one of many things that one seed decides.
inline std::uint64_t derived_seed(std::uint64_t seed, std::string_view what, std::uint64_t number) {
  return hash_text(std::string(what) + ":" + std::to_string(seed) + ":" + std::to_string(number))
      .low;
}

}  // namespace tessera::fuzz
