// SPDX-License-Identifier: Apache-2.0
// Expressions as polynomials over atoms.
#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

#include "tir/compare.h"
#include "tir/prover.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

Interval range_of_type(DType t) {
  if (t.is_bool()) return {0, 1};
  if (!t.is_int() || t.bits >= 64) return {};
  const int bits = t.bits;
  if (t.code == TypeCode::kUInt) return {0, (std::int64_t{1} << bits) - 1};
  return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
}

Interval both(Interval a, Interval b) { return {std::max(a.min, b.min), std::min(a.max, b.max)}; }

}  // namespace

Atom Prover::add_atom(AtomInfo info) {
  const auto made_of = [&](const Polynomial& p) {
    for (const auto& [monomial, factor] : p.terms()) {
      for (const Atom a : monomial) {
        info.support.insert(a);
        const std::set<Atom>& more = this->info(a).support;
        info.support.insert(more.begin(), more.end());
      }
    }
  };
  made_of(info.a);
  made_of(info.b);
  for (const Choice* when : {&info.yes, &info.no}) {
    for (const Facts& facts : *when) std::for_each(facts.begin(), facts.end(), made_of);
  }
  atoms_.push_back(std::move(info));
  return static_cast<Atom>(atoms_.size()) - 1;
}

Polynomial Prover::fresh(Interval range) {
  AtomInfo info;
  info.range = range;
  return Polynomial::of(add_atom(std::move(info)));
}

// One atom for each expression, as long as it has one value.
Polynomial Prover::unknown(const Expr& e) {
  AtomInfo info;
  info.range = range_of_type(e.dtype().element());
  bool is_constant = true;
  for_each_node(e, [&](const Expr& part) {
    const auto* load = part.as<Load>();
    if (load == nullptr || !loaded) return;
    const Loaded values = loaded(*load);
    is_constant &= values.is_constant;
    if (part.same_as(e)) info.range = both(info.range, values.range);
  });
  for (const auto& [known, atom] : unknowns_) {
    if (is_constant && equal(known, e)) return Polynomial::of(atom);
  }
  const Atom atom = add_atom(std::move(info));
  if (is_constant) unknowns_.emplace_back(e, atom);
  return Polynomial::of(atom);
}

Polynomial Prover::keep(Key key, AtomInfo info) {
  const Atom atom = add_atom(std::move(info));
  known_.emplace(key, atom);
  keys_.push_back(std::move(key));
  return Polynomial::of(atom);
}

Polynomial Prover::extreme(Kind kind, const Forms& operands) {
  const auto& [a, b] = operands;
  const bool least = kind == Kind::kMin;
  if (const int s = sign(b - a); s != 0) return (s > 0) == least ? a : b;
  const Key key(kind, std::min(a, b), std::max(a, b));
  if (const auto it = known_.find(key); it != known_.end()) return Polynomial::of(it->second);
  const Interval x = range(a), y = range(b);
  AtomInfo info{kind, a, b, {}, {}, {}, {}, {}};
  info.range = least ? Interval{std::min(x.min, y.min), std::min(x.max, y.max)}
                     : Interval{std::max(x.min, y.min), std::max(x.max, y.max)};
  const Polynomial is = keep(key, std::move(info));
  atoms_.back().facts = least ? std::vector{a - is, b - is} : std::vector{is - a, is - b};
  return is;
}

Polynomial Prover::chosen(const Select& n) {
  const Polynomial yes = form(n.yes), no = form(n.no);
  if (yes == no) return yes;
  const Choice when = meaning(n.condition, true), when_not = meaning(n.condition, false);
  if (when.empty() || when_not.empty()) return when.empty() ? no : yes;
  const bool is_known = when != Choice{{}} || when_not != Choice{{}};
  for (const Atom known : selects_) {
    const AtomInfo& old = info(known);
    if (is_known && old.a == yes && old.b == no && old.yes == when && old.no == when_not) {
      return Polynomial::of(known);
    }
  }
  const Interval x = range(yes), y = range(no);
  AtomInfo info{Kind::kSelect, yes, no, when, when_not, {}, {}, {}};
  info.range = {std::min(x.min, y.min), std::max(x.max, y.max)};
  selects_.push_back(add_atom(std::move(info)));
  return Polynomial::of(selects_.back());
}

// The quotient by a divisor that is at least 1.
Polynomial Prover::quotient(const Polynomial& a, const Polynomial& divisor) {
  auto [whole, rest] = a.divided_by(divisor);
  if (is_plainly_positive(rest) && is_plainly_positive(divisor - 1 - rest)) return whole;
  Polynomial by = divisor;
  if (const auto number = divisor.constant()) {
    if (const std::int64_t g = std::gcd(rest.content(), *number); g > 1) {
      // (6x + 5) // 4 = (3x + 2) // 2
      rest = rest.divided_by(g).quotient;
      by = *number / g;
    }
    for (const auto& [monomial, factor] : rest.terms()) {
      // rest = g * outer + inner with 0 <= inner < g, and g divides
      const std::int64_t g = std::gcd(factor, *by.constant());
      if (monomial.empty() || g <= 1) continue;
      const auto [outer, inner] = rest.divided_by(g);
      if (range(inner).inside(0, g - 1)) return whole + quotient(outer, *by.constant() / g);
    }
  }
  if (by == 1) return whole + rest;
  if (rest.terms().size() == 1) {
    const auto& [monomial, factor] = *rest.terms().begin();
    if (factor == 1 && monomial.size() == 1 && info(monomial[0]).kind == Kind::kQuotient) {
      const Atom digits = monomial[0];
      const Polynomial first = info(digits).a, least = info(digits).b;
      const Polynomial out = quotient(first, least * by);
      if (out.terms().size() == 1 && out.terms().begin()->first.size() == 1) {
        // The digits in between: what the two quotients say of each other.
        AtomInfo& both = info(out.terms().begin()->first[0]);
        for (const Polynomial& fact : {rest - by * out, by * out + by - 1 - rest}) {
          const auto known = std::find(both.facts.begin(), both.facts.end(), fact);
          if (known == both.facts.end()) both.facts.insert(both.facts.begin(), fact);
        }
      }
      return whole + out;
    }
  }
  return whole + quotient_atom(rest, by);
}

Polynomial Prover::quotient_atom(const Polynomial& a, const Polynomial& divisor) {
  if (is_not_negative(a) && is_not_negative(divisor - 1 - a)) return 0;
  const Interval x = range(a), d = range(divisor);
  Interval values;
  if (d.min == d.max) {
    if (x.has_min()) values.min = floor_div(x.min, d.min);
    if (x.has_max()) values.max = floor_div(x.max, d.min);
  } else if (x.has_min() && x.min >= 0) {
    values = {0, x.has_max() ? floor_div(x.max, std::max<std::int64_t>(1, d.min)) : x.max};
  }
  const Key key(Kind::kQuotient, a, divisor);
  const auto known = known_.find(key);
  if (known != known_.end()) return Polynomial::of(known->second);
  const std::optional<std::int64_t> count = times_around(a, divisor);
  if (count) values.max = std::min(values.max, *count - 1);
  const Polynomial is = keep(key, {Kind::kQuotient, a, divisor, {}, {}, values, {}, {}});
  atoms_.back().facts = {a - divisor * is, divisor * is + divisor - 1 - a};
  if (count) atoms_.back().facts.push_back(Polynomial(*count - 1) - is);
  return is;
}

// How many times a flattened loop goes through its inner ones, if that is a number: the quotients
// of its variable by their extents are less. It follows from what is known of the quotient
// otherwise, but of whole numbers only.
std::optional<std::int64_t> Prover::times_around(const Polynomial& a,
                                                 const Polynomial& divisor) const {
  if (a.terms().size() != 1) return std::nullopt;
  const auto& [monomial, factor] = *a.terms().begin();
  if (factor != 1 || monomial.size() != 1 || info(monomial[0]).kind != Kind::kLoop) {
    return std::nullopt;
  }
  const auto [whole, rest] = (info(monomial[0]).b + 1).divided_by(divisor);
  return rest.is_zero() ? whole.constant() : std::nullopt;
}

Prover::Forms Prover::forms(const Expr& a, const Expr& b) {
  Polynomial of_b = form(b);
  return {form(a), std::move(of_b)};
}

Polynomial Prover::form(const Expr& e) {
  if (const auto* cast = e.as<Cast>()) {
    const DType from = cast->value.dtype(), to = e.dtype();
    const Interval values = range_of_type(from), room = range_of_type(to);
    const bool fits =
        from.is_bool() || (from.is_int() && room.min <= values.min && room.max >= values.max);
    if (fits && !from.is_bool()) return form(cast->value);
    if (from.is_bool()) return form(select(cast->value, 1, 0));
  }
  if (const auto* n = e.as<IntImm>()) return n->value;
  if (e.as<Var>() != nullptr) {
    const auto it = values_.find(e.get());
    if (it != values_.end()) return it->second;
    bind(e, fresh(range_of_type(e.dtype().element())));
    return values_.at(e.get());
  }
  if (const auto* n = e.as<Broadcast>()) return form(n->value);
  if (const auto* n = e.as<Ramp>()) {
    const auto [base, stride] = forms(n->base, n->stride);
    return base + fresh({0, n->lanes - 1}) * stride;
  }
  if (e.dtype().element() != kInt64) return unknown(e);
  const auto divided = [&](const Expr& a, const Expr& b, auto&& result) {
    const Polynomial divisor = form(b);
    if (!is_not_negative(divisor - 1)) return unknown(e);
    const Polynomial whole = form(a);
    return result(whole, divisor, quotient(whole, divisor));
  };
  return visit(
      e, [&](const Add& n) { return std::apply(std::plus<>(), forms(n.a, n.b)); },
      [&](const Sub& n) { return std::apply(std::minus<>(), forms(n.a, n.b)); },
      [&](const Mul& n) { return std::apply(std::multiplies<>(), forms(n.a, n.b)); },
      [&](const Min& n) { return extreme(Kind::kMin, forms(n.a, n.b)); },
      [&](const Max& n) { return extreme(Kind::kMax, forms(n.a, n.b)); },
      [&](const Select& n) { return chosen(n); },
      [&](const FloorDiv& n) {
        return divided(n.a, n.b,
                       [](const Polynomial&, const Polynomial&, const Polynomial& q) { return q; });
      },
      [&](const FloorMod& n) {
        return divided(n.a, n.b, [](const Polynomial& a, const Polynomial& d, const Polynomial& q) {
          return a - d * q;
        });
      },
      [&](Otherwise) { return unknown(e); });
}

}  // namespace tessera::tir
