// SPDX-License-Identifier: Apache-2.0
#include "ops/shape_rules.h"

#include "tir/expr_ops.h"

namespace tessera::ops {
namespace {

using tir::Expr;

// In double precision, as inference computes it of constants.
std::vector<Expr> arange_shape(const ReadOperand& read) {
  const auto number = [&](std::size_t k) { return tir::cast(read(k, {}), kFloat64); };
  const Expr start = number(0), stop = number(1), step = number(2);
  const Expr zero = tir::float_imm(0, kFloat64);
  const Expr steps = tir::call("ceil", {(stop - start) / step});
  return {tir::cast(tir::select(tir::eq(step, zero), zero, tir::max(zero, steps)), kInt64)};
}

struct Rule {
  std::string_view op;
  ShapeRule rule;
};
constexpr Rule kRules[] = {{"arange", arange_shape}};

}  // namespace

ShapeRule find_shape_rule(const relay::Operator& op) {
  for (const Rule& r : kRules) {
    if (r.op == op.name) return r.rule;
  }
  return nullptr;
}

}  // namespace tessera::ops
