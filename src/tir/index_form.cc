// SPDX-License-Identifier: Apache-2.0
#include "tir/index_form.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "tir/compare.h"
#include "tir/index_terms.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

// Sums that stay exact: beyond this nothing is claimed.
constexpr std::int64_t kHuge = std::int64_t{1} << 60;

Interval scaled(Interval r, std::int64_t factor) {
  Interval out;
  const auto times = [&](std::int64_t v) -> std::optional<std::int64_t> {
    std::int64_t p = 0;
    if (__builtin_mul_overflow(v, factor, &p) || p > kHuge || p < -kHuge) return std::nullopt;
    return p;
  };
  if (r.has_min()) {
    if (const auto v = times(r.min)) (factor > 0 ? out.min : out.max) = *v;
  }
  if (r.has_max()) {
    if (const auto v = times(r.max)) (factor > 0 ? out.max : out.min) = *v;
  }
  return out;
}

Interval plus(Interval a, Interval b) {
  Interval out;
  if (a.has_min() && b.has_min()) out.min = a.min + b.min;
  if (a.has_max() && b.has_max()) out.max = a.max + b.max;
  return out;
}

Interval divided(Interval r, std::int64_t divisor) {
  if (r.has_min()) r.min = floor_div(r.min, divisor);
  if (r.has_max()) r.max = floor_div(r.max, divisor);
  return r;
}

// The product of two numbers that are not negative; what overflows is not claimed.
Interval times(Interval a, Interval b) {
  if (!a.has_min() || !b.has_min() || a.min < 0 || b.min < 0) return {};
  Interval out{0, Interval::kAny};
  if (const Interval low = scaled(a, b.min); low.has_min()) out.min = low.min;
  if (!a.has_max() || !b.has_max()) return out;
  if (const Interval high = scaled(a, b.max); high.has_max()) out.max = high.max;
  return out;
}

Interval range_within(const Expr& atom, const Bounds& bounds) {
  if (const auto* d = atom.as<FloorDiv>()) {
    const std::int64_t* c = as_int(d->b);
    return c != nullptr && *c > 0 ? divided(range_of(index_form(d->a, bounds), bounds), *c)
                                  : Interval{};
  }
  if (const auto* m = atom.as<FloorMod>()) {
    const std::int64_t* c = as_int(m->b);
    return c != nullptr && *c > 0 ? Interval{0, *c - 1} : Interval{};
  }
  const auto both = [&](const Expr& a, const Expr& b) {
    return std::pair{range_of(index_form(a, bounds), bounds),
                     range_of(index_form(b, bounds), bounds)};
  };
  if (const auto* m = atom.as<Mul>()) {
    const auto [a, b] = both(m->a, m->b);
    return times(a, b);
  }
  if (const auto* m = atom.as<Min>()) {
    const auto [a, b] = both(m->a, m->b);
    return {a.has_min() && b.has_min() ? std::min(a.min, b.min) : Interval::kNone,
            std::min(a.max, b.max)};
  }
  if (const auto* m = atom.as<Max>()) {
    const auto [a, b] = both(m->a, m->b);
    return {std::max(a.min, b.min),
            a.has_max() && b.has_max() ? std::max(a.max, b.max) : Interval::kAny};
  }
  if (const auto* s = atom.as<Select>()) {
    const auto [a, b] = both(s->yes, s->no);
    return {a.has_min() && b.has_min() ? std::min(a.min, b.min) : Interval::kNone,
            a.has_max() && b.has_max() ? std::max(a.max, b.max) : Interval::kAny};
  }
  return {};
}

Interval range_of_atom(const Expr& atom, const Bounds& bounds) {
  if (atom.as<Var>() != nullptr) return bounds.of(atom);
  if (const auto& known = bounds.memo().of(atom).range) return *known;
  const Interval range = range_within(atom, bounds);
  bounds.memo().of(atom).range = range;
  return range;
}

IndexForm atom_form(Expr atom) {
  IndexForm f;
  f.terms.push_back({std::move(atom), 1});
  return f;
}

// form = divisor * quotient + rest
struct Division {
  IndexForm quotient, rest;
};
Division divide(const IndexForm& form, std::int64_t divisor, const Bounds& bounds) {
  Division d;
  for (const IndexTerm& t : form.terms) {
    if (t.coefficient % divisor == 0) {
      d.quotient.terms.push_back({t.atom, t.coefficient / divisor});
    } else {
      d.rest.terms.push_back(t);
    }
  }
  d.quotient.constant = floor_div(form.constant, divisor);
  d.rest.constant = floor_mod(form.constant, divisor);
  // A constant may have been rounded the wrong way: -1 + x with x >= 1 lies in [0, divisor).
  const Interval r = range_of(d.rest, bounds);
  if (r.has_min()) {
    const std::int64_t shift = floor_div(r.min, divisor);
    if (r.inside(shift * divisor, shift * divisor + divisor - 1)) {
      d.rest.constant -= shift * divisor;
      d.quotient.constant += shift;
    }
  }
  return d;
}

// floor(rest / divisor) in lowest terms, as an atom.
Expr division_atom(const IndexForm& rest, std::int64_t divisor) {
  std::int64_t g = divisor;
  for (const IndexTerm& t : rest.terms) g = std::gcd(g, t.coefficient);
  IndexForm reduced = rest;
  for (IndexTerm& t : reduced.terms) t.coefficient /= g;
  reduced.constant = floor_div(rest.constant, g);
  if (reduced.terms.size() == 1 && reduced.terms[0].coefficient == 1 && reduced.constant == 0) {
    if (const auto inner = divided_by<FloorDiv>(reduced.terms[0].atom)) {
      return floor_div(inner->first, int_imm(inner->second * (divisor / g)));
    }
  }
  return floor_div(to_expr(reduced), int_imm(divisor / g));
}

// rest = factor * quotient + small with 0 <= small < factor, where the factor divides the divisor:
// then rest // divisor = quotient // (divisor / factor), and rest % divisor =
// factor * (quotient % (divisor / factor)) + small.
struct Split {
  std::int64_t factor = 1;
  Division parts;
};
std::optional<Split> split_rest(const IndexForm& rest, std::int64_t divisor, const Bounds& bounds) {
  std::vector<std::int64_t> factors;
  for (const IndexTerm& t : rest.terms) {
    const std::int64_t g = std::gcd(t.coefficient, divisor);
    if (g > 1) factors.push_back(g);
  }
  std::sort(factors.rbegin(), factors.rend());
  for (const std::int64_t g : factors) {
    Division parts = divide(rest, g, bounds);
    if (!parts.quotient.terms.empty() && range_of(parts.rest, bounds).inside(0, g - 1)) {
      return Split{g, std::move(parts)};
    }
  }
  return std::nullopt;
}

// (x % (d * c)) // d = (x // d) % c
std::optional<Expr> quotient_of_modulo(const IndexForm& rest, std::int64_t divisor) {
  if (rest.terms.size() != 1 || rest.terms[0].coefficient != 1 || rest.constant != 0) return {};
  const auto mod = divided_by<FloorMod>(rest.terms[0].atom);
  if (!mod || mod->second % divisor != 0) return {};
  return floor_mod(floor_div(mod->first, int_imm(divisor)), int_imm(mod->second / divisor));
}

IndexForm form_of_div(const Expr& a, std::int64_t divisor, const Bounds& bounds) {
  Division d = divide(index_form(a, bounds), divisor, bounds);
  if (range_of(d.rest, bounds).inside(0, divisor - 1)) return d.quotient;
  if (const auto split = split_rest(d.rest, divisor, bounds)) {
    const Expr quotient = to_expr(split->parts.quotient);
    return add(d.quotient, form_of_div(quotient, divisor / split->factor, bounds));
  }
  if (const auto modulo = quotient_of_modulo(d.rest, divisor)) {
    return add(d.quotient, index_form(*modulo, bounds));
  }
  add_term(d.quotient, division_atom(d.rest, divisor), 1);
  return d.quotient;
}

// c * (x % m) and c * x leave the same when divided by a divisor of c * m.
bool drop_inner_modulo(IndexForm& form, std::int64_t divisor, const Bounds& bounds) {
  for (const IndexTerm& t : form.terms) {
    const auto mod = divided_by<FloorMod>(t.atom);
    std::int64_t period = 0;
    if (!mod || __builtin_mul_overflow(t.coefficient, mod->second, &period)) continue;
    if (period % divisor != 0) continue;
    const IndexTerm dropped = t;
    add_term(form, dropped.atom, -dropped.coefficient);
    form = add(form, index_form(mod->first, bounds), dropped.coefficient);
    return true;
  }
  return false;
}

IndexForm form_of_mod(const Expr& a, std::int64_t divisor, const Bounds& bounds) {
  Division d = divide(index_form(a, bounds), divisor, bounds);
  if (range_of(d.rest, bounds).inside(0, divisor - 1)) return d.rest;
  if (drop_inner_modulo(d.rest, divisor, bounds))
    return form_of_mod(to_expr(d.rest), divisor, bounds);
  if (const auto split = split_rest(d.rest, divisor, bounds)) {
    const Expr quotient = to_expr(split->parts.quotient);
    return add(split->parts.rest, form_of_mod(quotient, divisor / split->factor, bounds),
               split->factor);
  }
  // A common factor of all terms stays outside: (4*x) % 8 = 4 * (x % 2).
  std::int64_t g = divisor;
  for (const IndexTerm& t : d.rest.terms) g = std::gcd(g, t.coefficient);
  g = std::gcd(g, d.rest.constant);
  IndexForm reduced = d.rest, out;
  for (IndexTerm& t : reduced.terms) t.coefficient /= g;
  reduced.constant /= g;
  if (g == divisor) return out;
  add_term(out, floor_mod(to_expr(reduced), int_imm(divisor / g)), g);
  return out;
}

IndexForm form_of_product(const Mul& m, const Bounds& bounds) {
  const IndexForm a = index_form(m.a, bounds), b = index_form(m.b, bounds);
  if (a.is_constant()) return add({}, b, a.constant);
  if (b.is_constant()) return add({}, a, b.constant);
  return atom_form(Mul::make(kInt64, to_expr(a), to_expr(b)));
}

IndexForm form_within(const Expr& index, const Bounds& bounds) {
  if (index.dtype() != kInt64) return atom_form(simplify_indices(index, bounds));
  IndexForm form;
  if (const auto* s = index.as<Add>()) {
    form = add(index_form(s->a, bounds), index_form(s->b, bounds));
  } else if (const auto* d = index.as<Sub>()) {
    form = add(index_form(d->a, bounds), index_form(d->b, bounds), -1);
  } else if (const auto* m = index.as<Mul>()) {
    return form_of_product(*m, bounds);
  } else if (const auto div = divided_by<FloorDiv>(index)) {
    return form_of_div(div->first, div->second, bounds);
  } else if (const auto mod = divided_by<FloorMod>(index)) {
    return form_of_mod(mod->first, mod->second, bounds);
  } else {
    const Expr inner =
        map_children(index, [&](const Expr& child) { return simplify_indices(child, bounds); });
    if (const auto* c = inner.as<IntImm>()) return {{}, c->value};
    if (const Expr chosen = decided_extreme(inner, bounds)) return index_form(chosen, bounds);
    if (const auto* s = inner.as<Select>()) {
      if (const auto known = decide(s->condition, bounds)) {
        return index_form(*known ? s->yes : s->no, bounds);
      }
    }
    return atom_form(inner);
  }
  recombine(form, bounds);
  return form;
}

}  // namespace

std::int64_t IndexForm::coefficient(const Expr& var) const {
  for (const IndexTerm& t : terms) {
    if (t.atom.same_as(var)) return t.coefficient;
  }
  return 0;
}

bool IndexForm::hides(const Expr& var) const {
  return std::any_of(terms.begin(), terms.end(), [&](const IndexTerm& t) {
    return !t.atom.same_as(var) && uses_var(t.atom, var);
  });
}

IndexForm add(const IndexForm& a, const IndexForm& b, std::int64_t factor) {
  IndexForm out = a;
  out.constant += factor * b.constant;
  for (const IndexTerm& t : b.terms) add_term(out, t.atom, factor * t.coefficient);
  return out;
}

Interval range_of(const IndexForm& form, const Bounds& bounds) {
  Interval out{form.constant, form.constant};
  for (const IndexTerm& t : form.terms) {
    out = plus(out, scaled(range_of_atom(t.atom, bounds), t.coefficient));
  }
  return out;
}

IndexForm index_form(const Expr& index, const Bounds& bounds) {
  if (const auto* c = index.as<IntImm>()) return {{}, c->value};
  if (index.as<Var>() != nullptr) {
    const Interval r = bounds.of(index);
    return r.has_min() && r.min == r.max ? IndexForm{{}, r.min} : atom_form(index);
  }
  if (const auto& known = bounds.memo().of(index).form) return *known;
  IndexForm form = form_within(index, bounds);
  bounds.memo().of(index).form = form;
  return form;
}

Expr to_expr(const IndexForm& form) {
  std::vector<IndexTerm> terms = form.terms;
  std::stable_sort(terms.begin(), terms.end(), [](const IndexTerm& a, const IndexTerm& b) {
    return a.coefficient > b.coefficient;
  });
  Expr out;
  for (const IndexTerm& t : terms) {
    const std::int64_t k = t.coefficient;
    if (!out) {
      out = k == 1 ? t.atom : t.atom * int_imm(k);
    } else if (k < 0) {
      out = out - (k == -1 ? t.atom : t.atom * int_imm(-k));
    } else {
      out = out + (k == 1 ? t.atom : t.atom * int_imm(k));
    }
  }
  if (!out) return int_imm(form.constant);
  if (form.constant == 0) return out;
  return form.constant > 0 ? out + int_imm(form.constant) : out - int_imm(-form.constant);
}

}  // namespace tessera::tir
