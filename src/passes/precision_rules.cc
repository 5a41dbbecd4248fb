// SPDX-License-Identifier: Apache-2.0
#include "passes/precision_rules.h"

#include <algorithm>

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
  const auto* found = std::ranges::lower_bound(kRules, op.name, {}, &PrecisionRule::op);
  const bool is_there = found != std::end(kRules) && found->op == op.name;
  return is_there ? *found : PrecisionRule{op.name};
}

}  // namespace tessera::passes
