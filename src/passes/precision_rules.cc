// SPDX-License-Identifier: Apache-2.0
#include "passes/precision_rules.h"

#include <algorithm>

#include "passes/rule_table.h"

namespace tessera::passes {
namespace {

constexpr PrecisionRule kRules[] = {
#define RULE(op, kind, reason) {op, PrecisionRule::kind, reason},
#include "passes/precision_rules.def"
#undef RULE
};
static_assert(std::ranges::is_sorted(kRules, {}, &PrecisionRule::op));

}  // namespace

std::span<const PrecisionRule> precision_rules() { return kRules; }

PrecisionRule precision_rule(const relay::Operator& op) {
  const PrecisionRule* found = find_rule(precision_rules(), op.name);
  return found != nullptr ? *found : PrecisionRule{op.name};
}

}  // namespace tessera::passes
