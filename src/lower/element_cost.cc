// SPDX-License-Identifier: Apache-2.0
#include "lower/element_cost.h"

#include "tir/walk.h"

namespace tessera::lower {
namespace {

using tir::Expr;

double call_cost(const std::string& name) {
  if (name == "abs" || name == "fabs" || name == "floor" || name == "ceil" || name == "trunc" ||
      name == "round" || name == "nearbyint" || name == "fma") {
    return 1;
  }
  if (name == "sqrt" || name == "rsqrt") return 8;
  return 16;  // exp, erf, tanh, log, sin, ...
}

// A read that may not happen cannot become a vector load.
double guard_cost(const tir::Select& s) {
  const auto reads = [](const Expr& e) {
    return e.kind() == tir::ExprKind::Read || e.kind() == tir::ExprKind::Load;
  };
  return reads(s.yes) || reads(s.no) ? 8 : 1;
}

double own_cost(const Expr& e) {
  switch (e.kind()) {
    case tir::ExprKind::Select:
      return guard_cost(*e.as<tir::Select>());
    case tir::ExprKind::Div:
      return 6;
    case tir::ExprKind::FloorDiv:
    case tir::ExprKind::FloorMod:
      return 12;
    case tir::ExprKind::Call:
      return call_cost(e.as<tir::Call>()->name);
    case tir::ExprKind::IntImm:
    case tir::ExprKind::FloatImm:
    case tir::ExprKind::StringImm:
    case tir::ExprKind::Var:
    case tir::ExprKind::Ramp:
    case tir::ExprKind::Broadcast:
    case tir::ExprKind::Reduce:
      return 0;
    default:
      return 1;
  }
}

}  // namespace

double element_cost(const Expr& e) {
  if (e.kind() == tir::ExprKind::Read || e.kind() == tir::ExprKind::Load) return 0;
  double cost = own_cost(e);
  if (const auto* r = e.as<tir::Reduce>()) return element_cost(r->value);
  tir::for_each_child(e, [&](const Expr& child) { cost += element_cost(child); });
  return cost;
}

bool is_trivial(const Expr& e) {
  switch (e.kind()) {
    case tir::ExprKind::IntImm:
    case tir::ExprKind::FloatImm:
    case tir::ExprKind::StringImm:
    case tir::ExprKind::Var:
    case tir::ExprKind::Read:
    case tir::ExprKind::Load:
      return true;
    case tir::ExprKind::Cast:
      return is_trivial(e.as<tir::Cast>()->value);
    default:
      return false;
  }
}

}  // namespace tessera::lower
