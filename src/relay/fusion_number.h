// SPDX-License-Identifier: Apache-2.0
// How an operator fuses as a number: the attribute `TOpPattern` of Relay.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "relay/operator.h"

namespace tessera::relay {

inline constexpr std::array<std::pair<OpPattern, std::int64_t>, 7> kFusionNumbers = {
    {{OpPattern::kElemWise, 0},
     {OpPattern::kBroadcast, 1},
     {OpPattern::kInjective, 2},
     {OpPattern::kCommReduce, 3},
     {OpPattern::kOutFusable, 4},
     {OpPattern::kTuple, 7},
     {OpPattern::kOpaque, 8}}};

constexpr std::int64_t fusion_number(OpPattern pattern) {
  for (const auto& [known, number] : kFusionNumbers) {
    if (known == pattern) return number;
  }
  return -1;
}

// Nothing for a number that stands for none.
constexpr std::optional<OpPattern> fusion_pattern(std::int64_t number) {
  for (const auto& [pattern, known] : kFusionNumbers) {
    if (known == number) return pattern;
  }
  return std::nullopt;
}

}  // namespace tessera::relay
