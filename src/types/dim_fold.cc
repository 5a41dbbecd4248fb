// SPDX-License-Identifier: Apache-2.0
// floordiv, floormod, min and max of canonical sums, and what is known about their values. A
// divisor is taken to be non-zero: where a size of zero divides, the program has no meaning to
// preserve.
#include <algorithm>
#include <limits>
#include <numeric>

#include "types/dim_expr.h"

namespace tessera {
namespace {

using Terms = std::vector<DimTerm>;

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
}
std::int64_t floor_rest(std::int64_t a, std::int64_t b) {
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

bool is_constant_term(const DimTerm& term) { return term.factors.empty(); }

// The greatest common divisor of `start` and the coefficients of all symbolic terms.
std::int64_t common_coefficient(const Terms& terms, std::int64_t start) {
  for (const auto& term : terms) {
    if (!is_constant_term(term)) start = std::gcd(start, term.coefficient);
  }
  return start;
}

// floordiv(x, k) + c with a constant k > 0: x, k, c.
struct NestedDivision {
  Dim inner;
  std::int64_t divisor = 1, offset = 0;
};
std::optional<NestedDivision> as_nested_division(const Dim& dim) {
  const Terms terms = DimAlgebra::terms_of(dim);
  if (terms.empty() || terms.size() > 2 || terms.front().coefficient != 1) return std::nullopt;
  if (terms.front().factors.size() != 1) return std::nullopt;
  if (terms.size() == 2 && !is_constant_term(terms.back())) return std::nullopt;
  const DimAtom& atom = *terms.front().factors.front();
  if (atom.op != DimOp::kFloorDiv || !atom.b.is_constant() || atom.b.constant() <= 0) {
    return std::nullopt;
  }
  return NestedDivision{atom.a, atom.b.constant(),
                        terms.size() == 2 ? terms.back().coefficient : 0};
}

// a / b for a constant b > 1:  (b*q + r) / b = q + r / b;  (g*m + c) / (g*b) = (m + c/g) / b;
// (x/k + c) / b = (x + c*k) / (k*b), divisions rounding down.
Dim divide_by_constant(const Dim& a, std::int64_t b) {
  Terms whole, rest;
  for (const auto& term : DimAlgebra::terms_of(a)) {
    whole.push_back({floor_quotient(term.coefficient, b), term.factors});
    rest.push_back({floor_rest(term.coefficient, b), term.factors});
  }
  std::erase_if(rest, [](const DimTerm& term) { return term.coefficient == 0; });
  const std::int64_t g = common_coefficient(rest, b);
  for (auto& term : rest) term.coefficient = floor_quotient(term.coefficient, g);
  const Dim quotient = DimAlgebra::from_terms(std::move(whole));
  const Dim remainder = DimAlgebra::from_terms(std::move(rest));
  if (quotient.is_unknown() || remainder.is_unknown()) return Dim::unknown();
  b /= g;
  const DimInterval range = DimAlgebra::interval(remainder);
  if (range.min && range.max && floor_quotient(*range.min, b) == floor_quotient(*range.max, b)) {
    return quotient + floor_quotient(*range.min, b);
  }
  if (const auto nested = as_nested_division(remainder)) {
    return quotient + floor_div(nested->inner + Dim(nested->offset) * nested->divisor,
                                Dim(nested->divisor) * b);
  }
  return quotient + DimAlgebra::from_atom(DimOp::kFloorDiv, remainder, b);
}

// Replaces c * floormod(x, k) by c * x where the modulus divides c * k.
Dim drop_inner_mods(const Dim& a, std::int64_t modulus) {
  Dim sum = 0;
  for (const auto& term : DimAlgebra::terms_of(a)) {
    const DimAtom* atom = term.factors.size() == 1 ? term.factors.front().get() : nullptr;
    const bool redundant =
        atom != nullptr && atom->op == DimOp::kFloorMod && atom->b.is_constant() &&
        (Dim(term.coefficient) * atom->b).as_constant().value_or(1) % modulus == 0;
    sum = sum + (redundant ? Dim(term.coefficient) * atom->a : DimAlgebra::from_terms({term}));
  }
  return sum;
}

// a mod b for a constant b > 1:  coefficients mod b;  (g*m + g*q + r) mod (g*b) = g*((m+q) mod b) +
// r.
Dim mod_by_constant(const Dim& dim, std::int64_t b) {
  const Dim a = drop_inner_mods(dim, b);
  if (a.is_unknown()) return a;
  Terms rest;
  for (const auto& term : DimAlgebra::terms_of(a)) {
    rest.push_back({floor_rest(term.coefficient, b), term.factors});
  }
  const Dim reduced = DimAlgebra::from_terms(rest);
  if (reduced.is_unknown()) return reduced;
  const DimInterval range = DimAlgebra::interval(reduced);
  if (range.min && range.max && *range.min >= 0 && *range.max < b) return reduced;
  const std::int64_t g = common_coefficient(rest, b);
  std::int64_t left_over = 0;
  for (auto& term : rest) {
    if (is_constant_term(term)) left_over = floor_rest(term.coefficient, g);
    term.coefficient = floor_quotient(term.coefficient, g);
  }
  const Dim inner = DimAlgebra::from_terms(std::move(rest));
  if (g == b) return left_over;
  if (g > 1) return Dim(g) * mod_by_constant(inner, b / g) + left_over;
  return DimAlgebra::from_atom(DimOp::kFloorMod, inner, b);
}

// The product of everything that divides every term of both; neither is the smallest integer.
Dim common_content(const Dim& a, const Dim& b) {
  Terms terms = DimAlgebra::terms_of(a);
  const Terms more = DimAlgebra::terms_of(b);
  terms.insert(terms.end(), more.begin(), more.end());
  DimTerm common = terms.front();
  for (const auto& term : terms) {
    common.coefficient = std::gcd(common.coefficient, term.coefficient);
    std::vector<DimAtomRef> shared;
    std::set_intersection(common.factors.begin(), common.factors.end(), term.factors.begin(),
                          term.factors.end(), std::back_inserter(shared), DimAlgebra::atom_before);
    common.factors = std::move(shared);
  }
  return DimAlgebra::from_terms({common});
}

// Flattens nested `op`, drops arguments that another one dominates, and rebuilds in sorted order.
Dim extremum(DimOp op, const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return Dim::unknown();
  std::vector<Dim> arguments = DimAlgebra::arguments(op, a);
  for (Dim& more : DimAlgebra::arguments(op, b)) arguments.push_back(std::move(more));
  std::sort(arguments.begin(), arguments.end(),
            [](const Dim& x, const Dim& y) { return DimAlgebra::compare(x, y) < 0; });
  for (std::size_t i = 0; i < arguments.size();) {
    const bool dominated = std::any_of(arguments.begin(), arguments.end(), [&](const Dim& other) {
      if (&other == &arguments[i]) return false;
      return op == DimOp::kMin ? DimAlgebra::always_le(other, arguments[i])
                               : DimAlgebra::always_le(arguments[i], other);
    });
    if (dominated) {
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  Dim result = arguments.back();
  for (std::size_t i = arguments.size() - 1; i-- > 0 && !result.is_unknown();) {
    result = DimAlgebra::from_atom(op, arguments[i], result);
  }
  return result;
}

void collect_arguments(DimOp op, const Dim& dim, std::vector<Dim>& out) {
  if (const DimAtom* atom = DimAlgebra::as_atom(dim, op)) {
    collect_arguments(op, atom->a, out);
    collect_arguments(op, atom->b, out);
  } else {
    out.push_back(dim);
  }
}

}  // namespace

std::vector<Dim> DimAlgebra::arguments(DimOp op, const Dim& dim) {
  std::vector<Dim> all;
  collect_arguments(op, dim, all);
  return all;
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b == Dim(0) || a.is_unknown() || b.is_unknown()) return Dim::unknown();
  if (b == Dim(-1)) return Dim(0) - a;
  if (a.is_constant() && b.is_constant()) return floor_quotient(a.constant(), b.constant());
  if (b == Dim(1) || a == Dim(0)) return a;
  if (b.is_constant() && b.constant() > 0) return divide_by_constant(a, b.constant());
  if (const auto exact = DimAlgebra::divide_exactly(a, b)) return *exact;
  constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();
  if (a == Dim(kSmallest) || b == Dim(kSmallest)) return Dim::unknown();
  const Dim content = common_content(a, b);
  const auto numerator = DimAlgebra::divide_exactly(a, content);
  const auto denominator = DimAlgebra::divide_exactly(b, content);
  if (!numerator || !denominator || content == Dim(1)) {
    return DimAlgebra::from_atom(DimOp::kFloorDiv, a, b);
  }
  return floor_div(*numerator, *denominator);
}

Dim floor_mod(const Dim& a, const Dim& b) {
  if (b == Dim(0) || a.is_unknown() || b.is_unknown()) return Dim::unknown();
  if (b == Dim(1) || b == Dim(-1) || a == Dim(0)) return 0;
  if (a.is_constant() && b.is_constant()) return floor_rest(a.constant(), b.constant());
  if (b.is_constant() && b.constant() > 0) return mod_by_constant(a, b.constant());
  if (DimAlgebra::divide_exactly(a, b)) return 0;
  return DimAlgebra::from_atom(DimOp::kFloorMod, a, b);
}

Dim ceil_div(const Dim& a, const Dim& b) {
  if (b == Dim(0) || a.is_unknown() || b.is_unknown()) return Dim::unknown();
  if (const auto exact = DimAlgebra::divide_exactly(a, b)) return *exact;
  // Constants by quotient and rest, so that the sum cannot overflow.
  if (a.is_constant() && b.is_constant()) return floor_div(a, b) + Dim(1);
  return floor_div(a + b - Dim(1), b);
}

Dim min(const Dim& a, const Dim& b) { return extremum(DimOp::kMin, a, b); }
Dim max(const Dim& a, const Dim& b) { return extremum(DimOp::kMax, a, b); }

}  // namespace tessera
