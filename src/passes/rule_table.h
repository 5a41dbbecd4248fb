// SPDX-License-Identifier: Apache-2.0
// Rules of operators, sorted by `op`.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

namespace tessera::passes {

// Null: the table has no rule of it.
template <class Rule>
const Rule* find_rule(std::span<const Rule> rules, std::string_view op) {
  const auto found = std::ranges::lower_bound(rules, op, {}, &Rule::op);
  return found != rules.end() && found->op == op ? &*found : nullptr;
}

}  // namespace tessera::passes
