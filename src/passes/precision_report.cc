// SPDX-License-Identifier: Apache-2.0
#include "passes/precision_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "passes/float_types.h"
#include "passes/narrow_constant.h"
#include "passes/precision_rules.h"
#include "relay/operator.h"

namespace tessera::passes {
namespace {

using relay::NodeId;

bool computes(const relay::Operator& op) {
  return op.name != "cast" && op.pattern != relay::OpPattern::kInjective;
}

// The operator that computes a value in float32, through what names and moves it; null if none.
const relay::Operator* maker(const relay::Function& f, NodeId id) {
  while (has_float32(f.type(id))) {
    const relay::Operator* op = f.op(id);
    if (op != nullptr && computes(*op)) return op;
    const bool passes_on =
        op != nullptr || f.as<relay::Let>(id) != nullptr || f.as<relay::Project>(id) != nullptr;
    if (!passes_on || f.operands(id).empty()) return nullptr;
    id = f.operands(id)[0];
  }
  return nullptr;
}

std::string reason(const relay::Function& f, const ConstantPool& pool, NodeId id, DType low) {
  const PrecisionRule rule = precision_rule(*f.op(id));
  if (rule.kind != PrecisionRule::kLow && !rule.reason.empty()) return std::string(rule.reason);
  std::string follows;
  for (const NodeId o : f.operands(id)) {
    if (!has_float32(f.type(o))) continue;
    if (const auto* constant = f.as<relay::Constant>(o)) {
      const auto value = unrepresentable(pool.resolve(constant->value), low);
      if (value) return fmt::format("a constant of it holds {:g}", *value);
    }
    const relay::Operator* op = maker(f, o);
    if (op != nullptr && follows.empty()) follows = fmt::format("it follows {}", op->name);
  }
  return follows.empty() ? "nothing around it is in 16 bits" : follows;
}

bool is_low(const Type& type, DType low) {
  const std::vector<Type> tensors = flatten(type);
  return std::ranges::any_of(tensors, [&](const Type& t) { return t.dtype() == low; });
}

}  // namespace

PrecisionReport precision_report(const Module& module, DType low) {
  PrecisionReport report;
  report.dtype = low;
  std::map<std::pair<std::string, std::string>, int> kept;
  for (const auto& [name, f] : module.functions) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const NodeId id(i);
      const relay::Operator* op = f.op(id);
      if (op == nullptr || !computes(*op)) continue;
      const bool in_low = is_low(f.type(id), low);
      if (in_low) ++report.low;
      const bool float32_inside = in_low && !precision_rule(*op).reason.empty();
      if (!has_float32(f.type(id)) && !float32_inside) continue;
      ++kept[{std::string(op->name), reason(f, module.constants, id, low)}];
    }
  }
  for (const auto& [key, count] : kept) report.kept.push_back({key.first, key.second, count});
  std::ranges::stable_sort(report.kept, std::greater<>(), &PrecisionReport::Kept::count);
  return report;
}

std::string to_string(const PrecisionReport& report) {
  std::map<std::string, int> counts;
  for (const auto& [op, reason, count] : report.kept) counts[op] += count;
  std::vector<std::string> kept;
  for (const auto& [op, count] : counts) kept.push_back(fmt::format("{} {}", count, op));
  return fmt::format("{} operators in {}; float32 in {}", report.low, to_string(report.dtype),
                     kept.empty() ? "none" : fmt::format("{}", fmt::join(kept, ", ")));
}

}  // namespace tessera::passes
