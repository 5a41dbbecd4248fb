// SPDX-License-Identifier: Apache-2.0
// What a pattern can match, without a function to match it in: most patterns of a back end have no
// root in a small function, such as a branch, and are not worth a Matcher there.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "relay/patterns/pattern.h"

namespace tessera::relay {

// All that the pattern matches are calls of these operators; nothing where it may match others, or
// what is no call of an operator. The names are the pattern's.
std::optional<std::vector<std::string_view>> root_operators(const Pattern& pattern);

// Adds the operators that a callee may be; false if it may be something else.
bool operators_of_callee(const Pattern& callee, std::vector<std::string_view>& out);

}  // namespace tessera::relay
