// SPDX-License-Identifier: Apache-2.0
#include "passes/widening_rules.h"

#include <algorithm>

#include "passes/rule_table.h"
#include "relay/operator.h"

namespace tessera::passes {
namespace {

constexpr WideningRule kWideningRules[] = {
#define RULE(op, kind, reason) {op, WideningRule::kind, reason},
#include "passes/widening_rules.def"
#undef RULE
};
static_assert(std::ranges::is_sorted(kWideningRules, {}, &WideningRule::op));

bool makes_wider_floats(const Type& type) {
  return type.is_tensor() && type.dtype().is_float() && type.dtype().bits > 16;
}

}  // namespace

std::span<const WideningRule> widening_rules() { return kWideningRules; }

WideningRule::Kind widening_kind(const relay::Function& f, relay::NodeId call) {
  const relay::Operator& op = *f.op(call);
  if (const WideningRule* found = find_rule(widening_rules(), op.name)) return found->kind;
  if (op.pattern == relay::OpPattern::kInjective) return WideningRule::kMoves;
  if (op.name == "cast") {
    return makes_wider_floats(f.type(call)) ? WideningRule::kComputes : WideningRule::kKeeps;
  }
  return WideningRule::kComputes;
}

bool is_matrix_product(const relay::Function& f, relay::NodeId call,
                       std::span<const DType> dtypes) {
  constexpr std::string_view kProducts[] = {"nn.batch_matmul", "nn.dense", "nn.matmul"};
  if (std::ranges::find(kProducts, f.op(call)->name) == std::end(kProducts)) return false;
  const auto operands = f.operands(call);
  return std::ranges::all_of(operands, [&](relay::NodeId o) {
    const Type& type = f.type(o);
    return type.is_tensor() && std::ranges::find(dtypes, type.dtype()) != dtypes.end();
  });
}

}  // namespace tessera::passes
