// SPDX-License-Identifier: Apache-2.0
// What values of the options of target kinds may be, besides their type: the words in which lists
// of options (machines.def, and a back end's own) say so.
#pragma once

#include <string>
#include <vector>

#include "types/target.h"

namespace tessera {

// One of these, in this order in messages.
OptionRule one_of(std::vector<TargetValue> choices);

template <std::int64_t kLeast>
OptionRule at_least() {
  return {std::to_string(kLeast) + " or more", {}, [](const TargetValue& v) {
            return std::get<std::int64_t>(v) >= kLeast;
          }};
}
template <std::int64_t kMost>
OptionRule at_most() {
  return {std::to_string(kMost) + " or less", {}, [](const TargetValue& v) {
            return std::get<std::int64_t>(v) <= kMost;
          }};
}
// `why` follows the numbers.
template <std::int64_t kLeast, std::int64_t kMost>
OptionRule between(const std::string& why = "") {
  return {
      std::to_string(kLeast) + " to " + std::to_string(kMost) + why, {}, [](const TargetValue& v) {
        const std::int64_t n = std::get<std::int64_t>(v);
        return kLeast <= n && n <= kMost;
      }};
}

// Numbers from 1 on.
OptionRule counts();
// Pairs of such numbers, of which no product is above `kMost`; `text` says so.
bool are_pairs_within(const TargetValue& v, std::int64_t most);
template <std::int64_t kMost>
OptionRule pairs_within(const std::string& text) {
  return {text, {}, [](const TargetValue& v) { return are_pairs_within(v, kMost); }};
}

// What CUDA 13, the oldest toolkit that there is support for, compiles for; the texts of the rules
// name it, too.
inline constexpr std::int64_t kOldestArch = 75;
OptionRule arch();
OptionRule arch_or_auto();

}  // namespace tessera
