// SPDX-License-Identifier: Apache-2.0
// What index forms are made with: terms that are equal are one, quotients and what they leave are
// put together again. Internal to the forms.
#pragma once

#include <optional>
#include <utility>

#include "tir/index_form.h"

namespace tessera::tir {

void add_term(IndexForm& form, const Expr& atom, std::int64_t coefficient);

// The divisor of a floor_div or floor_mod by a positive constant, and what it divides.
template <class N>
std::optional<std::pair<Expr, std::int64_t>> divided_by(const Expr& atom) {
  const N* n = atom.as<N>();
  const std::int64_t* c = n != nullptr ? as_int(n->b) : nullptr;
  if (c == nullptr || *c <= 0) return std::nullopt;
  return std::pair{n->a, *c};
}

// c * (x // c) + x % c = x, for each such pair of terms with a factor in common.
void recombine(IndexForm& form, const Bounds& bounds);

}  // namespace tessera::tir
