// SPDX-License-Identifier: Apache-2.0
// Polynomials with whole coefficients over numbered unknowns: what sizes and indices are while
// something is proved of them (tir/prover.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace tessera::tir {

using Atom = int;
// The factors of a product in ascending order, each as often as it occurs; empty: 1.
using Monomial = std::vector<Atom>;

class Polynomial {
 public:
  Polynomial() = default;
  Polynomial(std::int64_t constant) { add_term({}, constant); }  // NOLINT: a number is one
  static Polynomial of(Atom atom);

  // False where a coefficient did not fit: then nothing may be concluded.
  bool is_exact() const { return exact_; }
  bool is_zero() const { return exact_ && terms_.empty(); }
  std::optional<std::int64_t> constant() const;  // where it is nothing else
  std::int64_t constant_term() const;
  const std::map<Monomial, std::int64_t>& terms() const { return terms_; }
  bool has(Atom atom) const;

  // The polynomial that stands beside the atom; nothing where the atom occurs in a power.
  std::optional<Polynomial> coefficient(Atom atom) const;
  Polynomial with(Atom atom, const Polynomial& value) const;  // the atom replaced
  // quotient * divisor + rest, where no term of the rest is a multiple of the divisor's first one.
  struct Division;
  Division divided_by(const Polynomial& divisor) const;
  // The greatest number that divides all coefficients but the constant; 0 where there are none.
  std::int64_t content() const;
  // A number that is not negative as long as this is not: (12 + 8x) gives 1 + x.
  Polynomial tightened() const;

  friend Polynomial operator+(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator-(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator-(const Polynomial& a) { return a * Polynomial(-1); }
  friend bool operator==(const Polynomial& a, const Polynomial& b) = default;
  friend bool operator<(const Polynomial& a, const Polynomial& b) {
    return a.exact_ != b.exact_ ? a.exact_ < b.exact_ : a.terms_ < b.terms_;
  }

 private:
  void add_term(const Monomial& monomial, std::int64_t coefficient);

  std::map<Monomial, std::int64_t> terms_;  // no zero coefficients
  bool exact_ = true;
};

struct Polynomial::Division {
  Polynomial quotient, rest;
};

}  // namespace tessera::tir
