// SPDX-License-Identifier: Apache-2.0
#include "tir/dim_vars.h"

#include <algorithm>

#include "tir/names.h"
#include "tir/walk.h"
#include "types/dim_expr.h"

namespace tessera::tir {
namespace {

std::optional<std::int64_t> multiplied(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// Nothing is said of factors that may be negative, but that a literal turns the other round.
Interval product_of(Interval a, Interval b) {
  if (a.has_min() && a.min == a.max && a.min < 0) std::swap(a, b);
  if (b.has_min() && b.min == b.max && b.min < 0) {
    Interval out;
    if (a.has_max()) out.min = multiplied(a.max, b.min).value_or(Interval::kNone);
    if (a.has_min()) out.max = multiplied(a.min, b.min).value_or(Interval::kAny);
    return out;
  }
  if (!a.has_min() || !b.has_min() || a.min < 0 || b.min < 0) return {};
  Interval out{multiplied(a.min, b.min).value_or(0), Interval::kAny};
  if (a.has_max() && b.has_max()) out.max = multiplied(a.max, b.max).value_or(Interval::kAny);
  return out;
}

Interval sum_of(Interval a, Interval b) {
  Interval out;
  if (a.has_min() && b.has_min() && __builtin_add_overflow(a.min, b.min, &out.min)) {
    out.min = Interval::kNone;
  }
  if (a.has_max() && b.has_max() && __builtin_add_overflow(a.max, b.max, &out.max)) {
    out.max = Interval::kAny;
  }
  return out;
}

Interval quotient_of(Interval a, Interval b) {
  if (!a.has_min() || a.min < 0 || !b.has_min() || b.min < 1) return {};
  return {b.has_max() ? a.min / b.max : 0, a.has_max() ? a.max / b.min : Interval::kAny};
}

Interval rest_of(Interval a, Interval b) {
  if (!b.has_min() || b.min < 1) return {};
  Interval out{0, b.has_max() ? b.max - 1 : Interval::kAny};
  if (a.has_min() && a.min >= 0) out.max = std::min(out.max, a.max);
  return out;
}

}  // namespace

Expr DimVars::expr(const Dim& dim) {
  if (const auto n = dim.as_constant()) return Expr(*n);
  TESSERA_CHECK(!dim.is_unknown(), "a size without a name has no formal dimension");
  const auto it =
      std::find_if(formals_.begin(), formals_.end(), [&](const Formal& f) { return f.dim == dim; });
  if (it != formals_.end()) return it->var;
  const std::string text = dim.expression_text();
  const std::string name = is_symbol_name(text) ? text : fmt::format("size_{}", formals_.size());
  formals_.push_back({dim, make_var(name)});
  return formals_.back().var;
}

std::vector<Expr> DimVars::shape(const Shape& shape) {
  std::vector<Expr> exprs;
  for (const Dim& dim : shape) exprs.push_back(expr(dim));
  return exprs;
}

Expr dim_expr(const Dim& dim, const std::function<Expr(const std::string&)>& value) {
  if (const auto n = dim.as_constant()) return Expr(*n);
  TESSERA_CHECK(dim.is_symbolic(), "a size without a name has no value");
  const auto atom_value = [&](const DimAtom& atom) {
    if (atom.op == DimOp::kSymbol) return value(atom.name);
    const Expr a = dim_expr(atom.a, value), b = dim_expr(atom.b, value);
    return atom.op == DimOp::kFloorDiv   ? floor_div(a, b)
           : atom.op == DimOp::kFloorMod ? floor_mod(a, b)
           : atom.op == DimOp::kMin      ? min(a, b)
                                         : max(a, b);
  };
  Expr sum;
  for (const DimTerm& term : dim.expr()->terms) {
    Expr product;
    for (const DimAtomRef& atom : term.factors) {
      product = product ? product * atom_value(*atom) : atom_value(*atom);
    }
    if (!product) {
      product = term.coefficient;
    } else if (term.coefficient != 1) {
      product = product * Expr(term.coefficient);
    }
    sum = sum ? sum + product : product;
  }
  return sum;
}

Interval size_range(const Expr& e, const Bounds& bounds) {
  return visit(
      e,
      [](const IntImm& n) {
        return Interval{n.value, n.value};
      },
      [&](const Var&) { return bounds.of(e); },
      [&](const Add& n) { return sum_of(size_range(n.a, bounds), size_range(n.b, bounds)); },
      [&](const Sub& n) {
        const Interval negative = product_of(size_range(n.b, bounds), {-1, -1});
        return sum_of(size_range(n.a, bounds), negative);
      },
      [&](const Mul& n) { return product_of(size_range(n.a, bounds), size_range(n.b, bounds)); },
      [&](const FloorDiv& n) {
        return quotient_of(size_range(n.a, bounds), size_range(n.b, bounds));
      },
      [&](const FloorMod& n) { return rest_of(size_range(n.a, bounds), size_range(n.b, bounds)); },
      [&](const Min& n) {
        const Interval a = size_range(n.a, bounds), b = size_range(n.b, bounds);
        return Interval{std::min(a.min, b.min), std::min(a.max, b.max)};
      },
      [&](const Max& n) {
        const Interval a = size_range(n.a, bounds), b = size_range(n.b, bounds);
        return Interval{std::max(a.min, b.min), std::max(a.max, b.max)};
      },
      [](Otherwise) { return Interval{}; });
}

std::optional<std::int64_t> max_elements(const std::vector<Expr>& shape, const Bounds& bounds) {
  std::int64_t count = 1;
  bool bounded = true;
  for (const Expr& e : shape) {
    const Interval range = size_range(e, bounds);
    if (range.has_max() && range.max <= 0) return 0;
    bounded = bounded && range.has_max() && !__builtin_mul_overflow(count, range.max, &count);
  }
  return bounded ? std::optional(count) : std::nullopt;
}

}  // namespace tessera::tir
