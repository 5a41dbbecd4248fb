// SPDX-License-Identifier: Apache-2.0
#include "tir/polynomial.h"

#include <algorithm>
#include <numeric>

#include "tir/expr_ops.h"

namespace tessera::tir {
namespace {

constexpr int kMaxSteps = 64;  // of a division: those of longer polynomials stay in the rest

}  // namespace

Polynomial Polynomial::of(Atom atom) {
  Polynomial p;
  p.add_term({atom}, 1);
  return p;
}

void Polynomial::add_term(const Monomial& monomial, std::int64_t coefficient) {
  if (coefficient == 0) return;
  const auto [it, fresh] = terms_.try_emplace(monomial, coefficient);
  if (fresh) return;
  if (__builtin_add_overflow(it->second, coefficient, &it->second)) exact_ = false;
  if (it->second == 0) terms_.erase(it);
}

std::optional<std::int64_t> Polynomial::constant() const {
  if (!exact_ || terms_.size() > 1) return std::nullopt;
  if (terms_.empty()) return 0;
  return terms_.begin()->first.empty() ? std::optional(terms_.begin()->second) : std::nullopt;
}

std::int64_t Polynomial::constant_term() const {
  const auto it = terms_.find({});
  return it == terms_.end() ? 0 : it->second;
}

bool Polynomial::has(Atom atom) const {
  return std::any_of(terms_.begin(), terms_.end(), [&](const auto& term) {
    return std::binary_search(term.first.begin(), term.first.end(), atom);
  });
}

std::optional<Polynomial> Polynomial::coefficient(Atom atom) const {
  Polynomial out;
  out.exact_ = exact_;
  for (const auto& [monomial, value] : terms_) {
    const auto [first, last] = std::equal_range(monomial.begin(), monomial.end(), atom);
    if (last - first > 1) return std::nullopt;
    if (first == last) continue;
    Monomial rest(monomial.begin(), first);
    rest.insert(rest.end(), last, monomial.end());
    out.add_term(rest, value);
  }
  return out;
}

Polynomial Polynomial::with(Atom atom, const Polynomial& value) const {
  Polynomial out;
  out.exact_ = exact_;
  for (const auto& [monomial, factor] : terms_) {
    Polynomial product(factor);
    Monomial others;
    for (const Atom a : monomial) {
      if (a == atom) {
        product = product * value;
      } else {
        others.push_back(a);
      }
    }
    Polynomial rest;
    rest.add_term(others, 1);
    out = out + product * rest;
  }
  return out;
}

Polynomial::Division Polynomial::divided_by(const Polynomial& divisor) const {
  Division out{{}, *this};
  if (divisor.terms_.empty()) return out;
  // The term of the highest degree.
  const auto lead = std::max_element(
      divisor.terms_.begin(), divisor.terms_.end(),
      [](const auto& a, const auto& b) { return a.first.size() < b.first.size(); });
  const auto fits = [&](const auto& term) {
    return term.second % lead->second == 0 && std::includes(term.first.begin(), term.first.end(),
                                                            lead->first.begin(), lead->first.end());
  };
  for (int steps = 0; steps < kMaxSteps; ++steps) {
    const auto& terms = out.rest.terms_;
    const auto it = std::find_if(terms.begin(), terms.end(), fits);
    if (it == terms.end()) break;
    Monomial factor;
    std::set_difference(it->first.begin(), it->first.end(), lead->first.begin(), lead->first.end(),
                        std::back_inserter(factor));
    Polynomial step;
    step.add_term(factor, it->second / lead->second);
    out.quotient = out.quotient + step;
    out.rest = out.rest - step * divisor;
  }
  if (const auto number = divisor.constant()) {
    const Polynomial whole = floor_div(out.rest.constant_term(), *number);
    out.quotient = out.quotient + whole;
    out.rest = out.rest - whole * divisor;
  }
  return out;
}

std::int64_t Polynomial::content() const {
  std::int64_t g = 0;
  for (const auto& [monomial, value] : terms_) {
    if (!monomial.empty()) g = std::gcd(g, value);
  }
  return g;
}

Polynomial Polynomial::tightened() const {
  const std::int64_t g = content();
  if (g <= 1) return *this;
  Polynomial out;
  out.exact_ = exact_;
  for (const auto& [monomial, value] : terms_) {
    out.add_term(monomial, monomial.empty() ? floor_div(value, g) : value / g);
  }
  return out;
}

Polynomial operator+(const Polynomial& a, const Polynomial& b) {
  Polynomial out = a;
  out.exact_ = a.exact_ && b.exact_;
  for (const auto& [monomial, value] : b.terms_) out.add_term(monomial, value);
  return out;
}

Polynomial operator-(const Polynomial& a, const Polynomial& b) {
  Polynomial out = a;
  out.exact_ = a.exact_ && b.exact_;
  for (const auto& [monomial, value] : b.terms_) {
    std::int64_t negative = 0;
    if (__builtin_sub_overflow(std::int64_t{0}, value, &negative)) out.exact_ = false;
    out.add_term(monomial, negative);
  }
  return out;
}

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  if (a.constant() == 1) return b;
  if (b.constant() == 1) return a;
  Polynomial out;
  out.exact_ = a.exact_ && b.exact_;
  for (const auto& [x, p] : a.terms_) {
    for (const auto& [y, q] : b.terms_) {
      Monomial product;
      std::merge(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(product));
      std::int64_t value = 0;
      if (__builtin_mul_overflow(p, q, &value)) out.exact_ = false;
      out.add_term(product, value);
    }
  }
  return out;
}

}  // namespace tessera::tir
