// SPDX-License-Identifier: Apache-2.0
// For messages: what somebody may have meant by a name that is none.
#pragma once

#include <span>
#include <string_view>

namespace tessera {

// The candidate that takes the fewest insertions, deletions and replacements of single bytes
// (Levenshtein's distance), the first of several; "" if it would take more than about a third of
// the name's bytes, and more than one.
std::string_view closest(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace tessera
