// SPDX-License-Identifier: Apache-2.0
// Names for the fields of a model: plain ones, and hostile ones in their places.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tessera::text_fuzz {

inline constexpr int kFields = 48;  // of a model, at most

using Names = std::vector<std::string>;  // by field

// "zq00qz", "zq01qz", ...: none is part of another, or of anything else that is emitted.
Names plain_names();

class HostileNames {
 public:
  explicit HostileNames(std::uint64_t seed) : random_(seed) {}
  // Each another one, and in the order of the fields: emitted tables are sorted by some names.
  Names names();

 private:
  std::string text();
  std::size_t pick(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }
  std::mt19937_64 random_;
};

}  // namespace tessera::text_fuzz
