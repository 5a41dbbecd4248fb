// SPDX-License-Identifier: Apache-2.0
// Canonical sums: building, ordering, addition, multiplication, long division.
#include <algorithm>
#include <limits>

#include "support/check.h"
#include "support/hash.h"
#include "types/dim_expr.h"

namespace tessera {
namespace {

// Has no negative, so quotients and common divisors stay away from it.
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

int sign_of(std::strong_ordering order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

std::size_t size_of(const Dim& dim) { return dim.is_symbolic() ? dim.expr()->size : 1; }

void finish(DimExpr& expr) {
  expr.hash = 0x51;
  for (const auto& term : expr.terms) {
    expr.size += 1;
    expr.hash = hash_combine(expr.hash, static_cast<std::uint64_t>(term.coefficient));
    for (const auto& atom : term.factors) {
      expr.size += atom->op == DimOp::kSymbol ? 1 : 1 + size_of(atom->a) + size_of(atom->b);
      expr.hash = hash_combine(expr.hash, static_cast<std::uint64_t>(atom->op));
      expr.hash = hash_combine(expr.hash, hash_text(atom->name).low);
      expr.hash = hash_combine(hash_combine(expr.hash, atom->a.hash()), atom->b.hash());
    }
  }
}

std::optional<DimTerm> multiply(const DimTerm& a, const DimTerm& b) {
  DimTerm product;
  if (__builtin_mul_overflow(a.coefficient, b.coefficient, &product.coefficient)) {
    return std::nullopt;
  }
  std::merge(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(),
             std::back_inserter(product.factors), DimAlgebra::atom_before);
  return product;
}

// a / b, if the coefficient and every factor of b divide.
std::optional<DimTerm> divide(const DimTerm& a, const DimTerm& b) {
  if (a.coefficient == kSmallest || a.coefficient % b.coefficient != 0) return std::nullopt;
  DimTerm quotient{a.coefficient / b.coefficient, {}};
  std::set_difference(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(),
                      std::back_inserter(quotient.factors), DimAlgebra::atom_before);
  if (quotient.factors.size() + b.factors.size() != a.factors.size()) return std::nullopt;
  return quotient;
}

}  // namespace

std::vector<DimTerm> DimAlgebra::terms_of(const Dim& dim) {
  TESSERA_CHECK(!dim.is_unknown());
  if (dim.is_symbolic()) return dim.expr()->terms;
  if (dim.constant() == 0) return {};
  return {{dim.constant(), {}}};
}

int DimAlgebra::compare_atoms(const DimAtomRef& a, const DimAtomRef& b) {
  if (a == b) return 0;
  if (a->op != b->op) return a->op < b->op ? -1 : 1;
  if (const int by_name = a->name.compare(b->name)) return by_name;
  if (const int by_first = compare(a->a, b->a)) return by_first;
  return compare(a->b, b->b);
}

int DimAlgebra::compare_factors(const DimTerm& a, const DimTerm& b) {
  if (a.factors.size() != b.factors.size()) return a.factors.size() > b.factors.size() ? -1 : 1;
  for (std::size_t i = 0; i < a.factors.size(); ++i) {
    if (const int order = compare_atoms(a.factors[i], b.factors[i])) return order;
  }
  return 0;
}

int DimAlgebra::compare(const Dim& a, const Dim& b) {
  if (a.kind_ != b.kind_) return a.kind_ < b.kind_ ? -1 : 1;
  if (!a.is_symbolic()) return sign_of(a.value_ <=> b.value_);
  if (a.expr_ == b.expr_) return 0;
  const auto &x = a.expr_->terms, &y = b.expr_->terms;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (const int order = compare_factors(x[i], y[i])) return order;
    if (x[i].coefficient != y[i].coefficient) return x[i].coefficient < y[i].coefficient ? -1 : 1;
  }
  return sign_of(x.size() <=> y.size());
}

Dim DimAlgebra::from_terms(std::vector<DimTerm> terms) {
  std::sort(terms.begin(), terms.end(),
            [](const DimTerm& a, const DimTerm& b) { return compare_factors(a, b) < 0; });
  auto expr = std::make_shared<DimExpr>();
  for (auto& term : terms) {
    if (!expr->terms.empty() && compare_factors(expr->terms.back(), term) == 0) {
      auto& sum = expr->terms.back().coefficient;
      if (__builtin_add_overflow(sum, term.coefficient, &sum)) return Dim::unknown();
    } else {
      expr->terms.push_back(std::move(term));
    }
  }
  std::erase_if(expr->terms, [](const DimTerm& term) { return term.coefficient == 0; });
  if (expr->terms.empty()) return 0;
  if (expr->terms.front().factors.empty()) return expr->terms.front().coefficient;
  finish(*expr);
  if (expr->size > kMaxSize) return Dim::unknown();
  for (const auto& term : expr->terms) {
    if (term.coefficient == kSmallest) return Dim::unknown();
  }
  Dim dim;
  dim.kind_ = Dim::Kind::kExpr;
  dim.expr_ = std::move(expr);
  return dim;
}

Dim DimAlgebra::from_atom(DimOp op, Dim a, Dim b) {
  return from_terms(
      {{1, {std::make_shared<const DimAtom>(DimAtom{op, "", std::move(a), std::move(b)})}}});
}

Dim DimAlgebra::from_symbol(std::string name) {
  return from_terms(
      {{1, {std::make_shared<const DimAtom>(DimAtom{DimOp::kSymbol, std::move(name), 0, 0})}}});
}

const DimAtom* DimAlgebra::as_atom(const Dim& dim, DimOp op) {
  if (!dim.is_symbolic() || dim.expr_->terms.size() != 1) return nullptr;
  const DimTerm& term = dim.expr_->terms.front();
  const bool is_atom =
      term.coefficient == 1 && term.factors.size() == 1 && term.factors.front()->op == op;
  return is_atom ? term.factors.front().get() : nullptr;
}

std::optional<Dim> DimAlgebra::divide_exactly(const Dim& a, const Dim& b) {
  const auto divisor = terms_of(b);
  std::vector<DimTerm> quotient;
  Dim rest = a;
  // Each step takes the leading term away, and the order of terms has no infinite descent; the
  // limit is for sums whose intermediate rests are long.
  for (int step = 0; step < 64; ++step) {
    const auto terms = terms_of(rest);
    if (terms.empty()) return from_terms(std::move(quotient));
    const auto factor = divide(terms.front(), divisor.front());
    if (!factor) return std::nullopt;
    quotient.push_back(*factor);
    rest = rest - from_terms({*factor}) * b;
    if (rest.is_unknown()) return std::nullopt;
  }
  return std::nullopt;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return Dim::unknown();
  std::int64_t sum = 0;
  if (a.is_constant() && b.is_constant()) {
    if (__builtin_add_overflow(a.constant(), b.constant(), &sum)) return Dim::unknown();
    return sum;
  }
  auto terms = DimAlgebra::terms_of(a);
  const auto more = DimAlgebra::terms_of(b);
  terms.insert(terms.end(), more.begin(), more.end());
  return DimAlgebra::from_terms(std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a == Dim(0) || b == Dim(0)) return 0;  // also of an unknown size
  if (a.is_unknown() || b.is_unknown()) return Dim::unknown();
  const auto left = DimAlgebra::terms_of(a), right = DimAlgebra::terms_of(b);
  if (left.size() * right.size() > DimAlgebra::kMaxSize) return Dim::unknown();
  std::vector<DimTerm> terms;
  for (const auto& x : left) {
    for (const auto& y : right) {
      auto product = multiply(x, y);
      if (!product) return Dim::unknown();
      terms.push_back(std::move(*product));
    }
  }
  return DimAlgebra::from_terms(std::move(terms));
}

}  // namespace tessera
