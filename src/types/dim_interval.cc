// SPDX-License-Identifier: Apache-2.0
// What is known about the value of a dimension in every run: bounds and equality.
#include <algorithm>
#include <numeric>

#include "types/dim_expr.h"

namespace tessera {
namespace {

using Bound = std::optional<std::int64_t>;

Bound add(Bound a, Bound b) {
  std::int64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return sum;
}

DimInterval add(const DimInterval& a, const DimInterval& b) {
  return {add(a.min, b.min), add(a.max, b.max)};
}

DimInterval scale(const DimInterval& range, std::int64_t factor) {
  const auto times = [factor](Bound bound) -> Bound {
    std::int64_t product = 0;
    if (!bound || __builtin_mul_overflow(*bound, factor, &product)) return std::nullopt;
    return product;
  };
  if (factor < 0) return {times(range.max), times(range.min)};
  return {times(range.min), times(range.max)};
}

// Nothing is said of factors that may be negative.
DimInterval multiply(const DimInterval& a, const DimInterval& b) {
  if (!a.min || !b.min || *a.min < 0 || *b.min < 0) return {};
  return {scale(a, *b.min).min, b.max ? scale(a, *b.max).max : std::nullopt};
}

Bound divide(Bound a, std::int64_t by) {
  if (!a) return std::nullopt;
  return floor_div(Dim(*a), Dim(by)).as_constant();
}

Bound both(Bound a, Bound b,
           const std::int64_t& (*pick)(const std::int64_t&, const std::int64_t&)) {
  if (!a || !b) return std::nullopt;
  return pick(*a, *b);
}
Bound either(Bound a, Bound b,
             const std::int64_t& (*pick)(const std::int64_t&, const std::int64_t&)) {
  return a && b ? Bound(pick(*a, *b)) : a ? a : b;
}

DimInterval interval_of(const DimAtom& atom) {
  if (atom.op == DimOp::kSymbol) return {0, std::nullopt};
  const DimInterval a = DimAlgebra::interval(atom.a), b = DimAlgebra::interval(atom.b);
  switch (atom.op) {
    case DimOp::kFloorDiv:
      if (atom.b.is_constant() && atom.b.constant() > 0) {
        return {divide(a.min, atom.b.constant()), divide(a.max, atom.b.constant())};
      }
      if (a.min && *a.min >= 0 && b.min && *b.min >= 0) return {0, a.max};
      return {};
    case DimOp::kFloorMod:
      if (!b.min || *b.min < 0) return {};
      return {0, b.max ? Bound(std::max<std::int64_t>(*b.max - 1, 0)) : std::nullopt};
    case DimOp::kMin:
      return {both(a.min, b.min, std::min), either(a.max, b.max, std::min)};
    case DimOp::kMax:
      return {either(a.min, b.min, std::max), both(a.max, b.max, std::max)};
    case DimOp::kSymbol:
      break;
  }
  return {};
}

// Can a * x + b * y + ... + c be zero for integers x, y, ...?
bool has_integer_zero(const Dim& dim) {
  std::int64_t g = 0, constant = 0;
  for (const auto& term : DimAlgebra::terms_of(dim)) {
    if (term.factors.empty()) {
      constant = term.coefficient;
    } else {
      g = std::gcd(g, term.coefficient);
    }
  }
  return g == 0 ? constant == 0 : constant % g == 0;
}

}  // namespace

DimInterval DimAlgebra::interval(const Dim& dim) {
  if (dim.is_unknown()) return {};
  DimInterval sum{0, 0};
  for (const auto& term : terms_of(dim)) {
    DimInterval product{1, 1};
    for (const auto& atom : term.factors) product = multiply(product, interval_of(*atom));
    sum = add(sum, scale(product, term.coefficient));
  }
  return sum;
}

bool DimAlgebra::always_le(const Dim& a, const Dim& b) {
  const Dim difference = b - a;
  if (difference.is_unknown()) return false;
  const DimInterval range = interval(difference);
  return range.min && *range.min >= 0;
}

Dim DimAlgebra::without_floor_mod(const Dim& dim) {
  if (!dim.is_symbolic()) return dim;
  Dim sum = 0;
  for (const auto& term : terms_of(dim)) {
    Dim product = term.coefficient;
    for (const auto& atom : term.factors) {
      if (atom->op == DimOp::kFloorMod) {
        product = product * (without_floor_mod(atom->a) - atom->b * floor_div(atom->a, atom->b));
      } else {
        product = product * from_terms({{1, {atom}}});
      }
    }
    sum = sum + product;
  }
  return sum;
}

Tri provably_equal(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (difference.is_unknown()) return Tri::kMaybe;
  // Bounds are better known with floormod, cancellation works better without.
  for (const Dim& form : {difference, DimAlgebra::without_floor_mod(difference)}) {
    if (form.is_unknown()) continue;
    if (form.is_constant()) return form.constant() == 0 ? Tri::kYes : Tri::kNo;
    const DimInterval range = DimAlgebra::interval(form);
    const bool apart = (range.min && *range.min > 0) || (range.max && *range.max < 0);
    if (apart || !has_integer_zero(form)) return Tri::kNo;
  }
  return Tri::kMaybe;
}

}  // namespace tessera
