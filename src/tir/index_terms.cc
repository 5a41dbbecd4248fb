// SPDX-License-Identifier: Apache-2.0
#include "tir/index_terms.h"

#include <algorithm>
#include <vector>

#include "tir/compare.h"
#include "tir/expr_ops.h"

namespace tessera::tir {
namespace {

// number * factors[0] * factors[1] * ..., none of them a product.
struct Factors {
  std::int64_t number = 1;
  std::vector<Expr> factors;

  void multiply(const Expr& e) {
    if (const auto* product = e.as<Mul>()) {
      multiply(product->a);
      multiply(product->b);
    } else if (const std::int64_t* c = as_int(e)) {
      number *= *c;
    } else {
      factors.push_back(e);
    }
  }
  bool remove(const Expr& e) {
    const auto found =
        std::find_if(factors.begin(), factors.end(), [&](const Expr& f) { return equal(f, e); });
    if (found == factors.end()) return false;
    factors.erase(found);
    return true;
  }
  bool operator==(const Factors& other) const {
    Factors rest = other;
    return number == other.number && factors.size() == other.factors.size() &&
           std::all_of(factors.begin(), factors.end(),
                       [&](const Expr& f) { return rest.remove(f); });
  }
};

Factors factors_of(const IndexTerm& term) {
  Factors out{term.coefficient, {}};
  out.multiply(term.atom);
  return out;
}

// In place of two terms, `value` times the factors. The second may be one of the form's own.
void replace(IndexForm& form, const IndexTerm& one, IndexTerm other, Expr value, const Factors& by,
             const Bounds& bounds) {
  for (const IndexTerm& t : {one, other}) add_term(form, t.atom, -t.coefficient);
  for (const Expr& f : by.factors) value = value * f;
  form = add(form, index_form(value, bounds), by.number);
}

// A positive number, or a product of such and of sizes: of a tensor of size 0 no element is asked
// for. By any other number that is 0 the quotient is 0, and what it leaves, too.
bool divides(const Expr& e, const Bounds& bounds) {
  if (const std::int64_t* c = as_int(e)) return *c > 0;
  const auto* product = e.as<Mul>();
  if (product == nullptr) return e.as<Var>() != nullptr && bounds.is_size(e);
  return divides(product->a, bounds) && divides(product->b, bounds);
}

// a // b, as one quotient where a is one: x // 20 // 56 is x // 1120 in simple indices.
Expr quotient_of(const Expr& a, const Expr& b) {
  const auto* inner = a.as<FloorDiv>();
  const std::int64_t *by = as_int(b), *before = inner != nullptr ? as_int(inner->b) : nullptr;
  if (by == nullptr || before == nullptr || *before <= 0) return floor_div(a, b);
  return floor_div(inner->a, Expr(*before * *by));
}

// `modulo` is (x % d) * k. Is there a term that completes it to more of x?
bool recombine_with(IndexForm& form, const IndexTerm& modulo, const FloorMod& mod, Factors k,
                    const Bounds& bounds) {
  if (!divides(mod.b, bounds)) return false;
  Factors quotient = k;  // (x // d) * d * k
  quotient.multiply(mod.b);
  const Expr divided = quotient_of(mod.a, mod.b);
  for (const IndexTerm& other : form.terms) {
    Factors rest = factors_of(other);
    if (Factors whole = rest; whole.remove(divided) && whole == quotient) {
      replace(form, modulo, other, mod.a, k, bounds);
      return true;
    }
    // k*d*((x // d) % e) + k*(x % d) = k*(x % (d*e))
    for (const Expr& f : rest.factors) {
      const auto* outer = f.as<FloorMod>();
      if (outer == nullptr || !equal(outer->a, divided) || !divides(outer->b, bounds)) continue;
      if (Factors left = rest; !left.remove(f) || !(left == quotient)) continue;
      replace(form, modulo, other, floor_mod(mod.a, mod.b * outer->b), k, bounds);
      return true;
    }
  }
  return false;
}

bool recombine_one(IndexForm& form, const IndexTerm& modulo, const Bounds& bounds) {
  if (modulo.atom.as<FloorMod>() == nullptr && modulo.atom.as<Mul>() == nullptr) return false;
  const Factors all = factors_of(modulo);
  return std::any_of(all.factors.begin(), all.factors.end(), [&](const Expr& f) {
    const auto* mod = f.as<FloorMod>();
    if (mod == nullptr) return false;
    Factors k = all;
    k.remove(f);
    return recombine_with(form, modulo, *mod, std::move(k), bounds);
  });
}

}  // namespace

void add_term(IndexForm& form, const Expr& atom, std::int64_t coefficient) {
  const auto it = std::find_if(form.terms.begin(), form.terms.end(), [&](const IndexTerm& t) {
    return t.atom.same_as(atom) || equal(t.atom, atom);
  });
  if (it == form.terms.end()) {
    if (coefficient != 0) form.terms.push_back({atom, coefficient});
    return;
  }
  it->coefficient += coefficient;
  if (it->coefficient == 0) form.terms.erase(it);
}

void recombine(IndexForm& form, const Bounds& bounds) {
  for (std::size_t i = 0; i < form.terms.size();) {
    const IndexTerm term = form.terms[i];
    i = recombine_one(form, term, bounds) ? 0 : i + 1;
  }
}

}  // namespace tessera::tir
