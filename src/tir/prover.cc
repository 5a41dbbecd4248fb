// SPDX-License-Identifier: Apache-2.0
#include "tir/prover.h"

#include <algorithm>

#include "tir/compare.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

constexpr int kMaxImplied = 3;         // facts about facts
constexpr std::size_t kMaxCases = 12;  // of a condition

std::optional<std::int64_t> sum(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}
std::optional<std::int64_t> times(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}

}  // namespace

Prover::Scope::Scope(Prover& p)
    : prover_(p),
      facts_(p.facts_.size()),
      ranges_(p.old_ranges_.size()),
      choices_(p.choices_.size()),
      atoms_(p.atoms_.size()),
      keys_(p.keys_.size()),
      unknowns_(p.unknowns_.size()),
      selects_(p.selects_.size()),
      bound_(p.bound_.size()),
      impossible_(p.impossible_) {}

// Atoms go as well: what was known where they were made is part of them.
Prover::Scope::~Scope() {
  Prover& p = prover_;
  for (; p.old_ranges_.size() > ranges_; p.old_ranges_.pop_back()) {
    p.info(p.old_ranges_.back().first).range = p.old_ranges_.back().second;
  }
  for (; p.keys_.size() > keys_; p.keys_.pop_back()) p.known_.erase(p.keys_.back());
  for (; p.bound_.size() > bound_; p.bound_.pop_back()) {
    p.values_.erase(p.bound_.back());
    p.conditions_.erase(p.bound_.back());
  }
  p.facts_.resize(facts_);
  p.choices_.resize(choices_);
  p.unknowns_.resize(unknowns_);
  p.selects_.resize(selects_);
  p.atoms_.resize(atoms_);
  p.impossible_ = impossible_;
}

void Prover::add_size(const Expr& var, Interval range) { bind(var, fresh(range)); }

void Prover::add_loop(const Expr& var, const Expr& min, const Expr& extent) {
  const Polynomial low = form(min), count = form(extent);
  learn(count - 1);  // where the body runs
  AtomInfo v;
  v.kind = Kind::kLoop;
  const Polynomial high = low + count - 1;
  v.range = {range(low).min, range(high).max};
  v.a = low;
  v.b = high;
  const Atom atom = add_atom(std::move(v));
  const Polynomial is = Polynomial::of(atom);
  info(atom).facts = {is - low, high - is};
  bind(var, is);
}

void Prover::bind_named(const Expr& var, const Polynomial& value) {
  const auto& terms = value.terms();
  const bool is_atom =
      terms.size() == 1 && terms.begin()->second == 1 && terms.begin()->first.size() == 1;
  if (value.constant() || is_atom) return bind(var, value);
  Interval values = range(value);
  // n - min(1, n): no interval shows it, and products ask no more than the intervals.
  if (values.min < 0 && is_not_negative(value)) values.min = 0;
  bind(var, keep({Kind::kNamed, value, {}}, {Kind::kNamed, value, {}, {}, {}, values, {}, {}}));
}

void Prover::bind(const Expr& var, const Expr& value) {
  if (var.dtype().is_int()) return bind(var, form(value));
  conditions_[var.get()] = value;
  bound_.push_back(var.get());
}

// All of a together with all of b.
Prover::Choice Prover::product(const Choice& a, const Choice& b) {
  Choice out;
  for (const Facts& x : a) {
    for (const Facts& y : b) {
      out.push_back(x);
      out.back().insert(out.back().end(), y.begin(), y.end());
    }
  }
  return out.size() <= kMaxCases ? out : Choice{{}};
}

Prover::Choice Prover::meaning(const Expr& condition, bool holds) {
  const auto both = [&](const Expr& a, const Expr& b) {
    const Choice of_b = meaning(b, holds);
    return product(meaning(a, holds), of_b);
  };
  const auto either = [&](const Expr& a, const Expr& b) {
    Choice out = meaning(a, holds), more = meaning(b, holds);
    out.insert(out.end(), more.begin(), more.end());
    return out.size() <= kMaxCases ? out : Choice{{}};
  };
  return visit(
      condition, [&](const IntImm& n) { return (n.value != 0) == holds ? Choice{{}} : Choice{}; },
      [&](const Var& n) {
        const auto it = conditions_.find(&n);
        return it == conditions_.end() ? Choice{{}} : meaning(it->second, holds);
      },
      [&](const Not& n) { return meaning(n.value, !holds); },
      [&](const And& n) { return holds ? both(n.a, n.b) : either(n.a, n.b); },
      [&](const Or& n) { return holds ? either(n.a, n.b) : both(n.a, n.b); },
      [&]<BinaryNode N>(const N& n) {
        constexpr ExprKind kKind = KindOf<N>::value;
        if (!n.a.dtype().is_int()) return Choice{{}};
        const auto [a, b] = forms(n.a, n.b);
        const Polynomial more = b - a;
        if (kKind == ExprKind::Lt) return Choice{{holds ? more - 1 : -more}};
        if (kKind == ExprKind::Le) return Choice{{holds ? more : -more - 1}};
        if (kKind != ExprKind::Eq && kKind != ExprKind::Ne) return Choice{{}};
        if ((kKind == ExprKind::Eq) == holds) return Choice{{more, -more}};
        return Choice{{more - 1}, {-more - 1}};
      },
      [](Otherwise) { return Choice{{}}; });
}

void Prover::assume(const Expr& condition, bool holds) {
  learn(meaning(condition, holds));
  weigh_choices();
}

bool Prover::is_refuted(const Facts& facts) const {
  return std::any_of(facts.begin(), facts.end(), [&](const Polynomial& p) {
    const Interval r = range(p);
    return r.has_max() && r.max < 0;
  });
}

void Prover::learn(const Choice& choice) {
  Choice left;
  for (const Facts& facts : choice) {
    if (!is_refuted(facts)) left.push_back(facts);
  }
  if (left.empty()) {
    impossible_ = true;
  } else if (left.size() == 1) {
    for (const Polynomial& p : left[0]) learn(p);
  } else if (std::none_of(left.begin(), left.end(), [](const Facts& f) { return f.empty(); }) &&
             std::find(choices_.begin(), choices_.end(), left) == choices_.end()) {
    choices_.push_back(std::move(left));
  }
}

// What is known by now may leave one possibility of several.
void Prover::weigh_choices() {
  const std::size_t count = choices_.size();
  for (std::size_t i = 0; i < count && !impossible_; ++i) {
    const Choice choice = choices_[i];
    if (std::any_of(choice.begin(), choice.end(), [&](const Facts& f) { return is_refuted(f); })) {
      learn(choice);
    }
  }
}

void Prover::learn(const Polynomial& p, int depth) {
  const Polynomial fact = p.tightened();
  if (!fact.is_exact() || depth > kMaxImplied) return;
  if (const auto value = fact.constant()) {
    impossible_ |= *value < 0;
    return;
  }
  if (range(fact).min >= 0) return;
  impossible_ |= range(fact).max < 0;
  facts_.push_back(fact);
  learn_ranges(fact);
  learn_implied(fact, depth);
}

void Prover::narrow(Atom a, Interval r) {
  const Interval old = info(a).range;
  r = {std::max(old.min, r.min), std::min(old.max, r.max)};
  if (r.min == old.min && r.max == old.max) return;
  old_ranges_.emplace_back(a, old);
  info(a).range = r;
  impossible_ |= r.min > r.max;
  if (impossible_ || narrowing_ >= kMaxImplied) return;
  ++narrowing_;
  learn_operands(
      a, {r.min > old.min ? r.min : Interval::kNone, r.max < old.max ? r.max : Interval::kAny});
  --narrowing_;
}

// What the operands of an atom are, now that its value is known better.
void Prover::learn_operands(Atom x, Interval r) {
  const AtomInfo is = info(x);
  if (is.kind == Kind::kQuotient) {
    if (r.has_min()) learn(is.a - is.b * r.min);
    if (r.has_max()) learn(is.b * (Polynomial(r.max) + 1) - 1 - is.a);
  }
  if (is.kind == Kind::kSelect) {
    const auto apart = [&](const Polynomial& value) {
      const Interval other = range(value);
      return (other.has_max() && other.max < is.range.min) ||
             (other.has_min() && other.min > is.range.max);
    };
    if (apart(is.a)) learn(is.no);
    if (apart(is.b)) learn(is.yes);
  }
  if (is.kind == Kind::kNamed || is.kind == Kind::kMin) {
    if (r.has_min()) learn(is.a - r.min);
    if (r.has_min() && is.kind == Kind::kMin) learn(is.b - r.min);
  }
  if (is.kind == Kind::kNamed || is.kind == Kind::kMax) {
    if (r.has_max()) learn(Polynomial(r.max) - is.a);
    if (r.has_max() && is.kind == Kind::kMax) learn(Polynomial(r.max) - is.b);
  }
}

// x >= -rest, where x stands with the factor 1; a product of at least 1 has factors of at least 1,
// if no two of them may be negative.
void Prover::learn_ranges(const Polynomial& p) {
  for (const auto& [monomial, factor] : p.terms()) {
    if (monomial.empty()) continue;
    Polynomial term(factor);
    for (const Atom a : monomial) term = term * Polynomial::of(a);
    const Interval rest = range(p - term);
    if (!rest.has_max()) continue;
    if (monomial.size() == 1) {
      if (factor > 0) narrow(monomial[0], {-floor_div(rest.max, factor), Interval::kAny});
      if (factor < 0) narrow(monomial[0], {Interval::kNone, floor_div(rest.max, -factor)});
    } else if (factor > 0 && rest.max < 0) {
      const auto maybe_negative = std::count_if(monomial.begin(), monomial.end(),
                                                [&](Atom a) { return info(a).range.min < 0; });
      if (maybe_negative > 1) continue;
      for (const Atom a : monomial) narrow(a, {1, Interval::kAny});
    }
  }
}

void Prover::learn_implied(const Polynomial& p, int depth) {
  for (const auto& [monomial, factor] : p.terms()) {
    if (monomial.size() != 1) continue;
    const Atom x = monomial[0];
    const AtomInfo& is = info(x);
    const Polynomial a = is.a, b = is.b;
    if ((is.kind == Kind::kMin && factor > 0) || (is.kind == Kind::kMax && factor < 0)) {
      learn(p.with(x, a), depth + 1);
      learn(p.with(x, b), depth + 1);
    } else if (is.kind == Kind::kQuotient && factor == 1) {
      learn(a + b * (p - Polynomial::of(x)), depth + 1);
    } else if (is.kind == Kind::kQuotient && factor == -1) {
      learn(b * (p + Polynomial::of(x) + 1) - 1 - a, depth + 1);
    }
  }
}

Interval Prover::range(const Monomial& m) const {
  if (m.empty()) return {1, 1};
  Interval out = info(m[0]).range;
  for (std::size_t i = 1; i < m.size(); ++i) {
    const Interval next = info(m[i]).range;
    if (!out.has_min() || out.min < 0 || !next.has_min() || next.min < 0) return {};
    out.min = times(out.min, next.min).value_or(0);
    const bool bounded = out.has_max() && next.has_max();
    out.max = bounded ? times(out.max, next.max).value_or(Interval::kAny) : Interval::kAny;
  }
  return out;
}

Interval Prover::range(const Polynomial& p) const {
  if (!p.is_exact()) return {};
  std::optional<std::int64_t> low = 0, high = 0;
  for (const auto& [monomial, factor] : p.terms()) {
    const Interval r = range(monomial);
    const std::int64_t scale = factor;  // as a lambda may use it
    const bool up = factor > 0;
    const auto end = [&](bool lower) {
      const bool known = lower ? r.has_min() : r.has_max();
      return known ? times(lower ? r.min : r.max, scale) : std::nullopt;
    };
    const auto least = end(up), most = end(!up);
    low = low && least ? sum(*low, *least) : std::nullopt;
    high = high && most ? sum(*high, *most) : std::nullopt;
  }
  return {low.value_or(Interval::kNone), high.value_or(Interval::kAny)};
}

// Each atom counted from its least value on: are all factors positive?
bool Prover::is_sum_of_positives(const Polynomial& p) const {
  for (const auto& [monomial, factor] : p.terms()) {
    for (const Atom a : monomial) {
      if (!info(a).range.has_min()) return false;
    }
    // Only a greater product can leave more of this one than it takes.
    const Monomial& part = monomial;
    if (factor < 0 && std::none_of(p.terms().begin(), p.terms().end(), [&](const auto& term) {
          return term.second > 0 && term.first.size() > part.size() &&
                 std::includes(term.first.begin(), term.first.end(), part.begin(), part.end());
        })) {
      return false;
    }
  }
  Polynomial shifted = p;
  std::set<Atom> atoms;
  for (const auto& [monomial, factor] : p.terms()) atoms.insert(monomial.begin(), monomial.end());
  for (const Atom a : atoms) {
    if (const std::int64_t low = info(a).range.min; low != 0) {
      shifted = shifted.with(a, Polynomial::of(a) + low);
    }
  }
  return shifted.is_exact() && std::all_of(shifted.terms().begin(), shifted.terms().end(),
                                           [](const auto& term) { return term.second >= 0; });
}

bool Prover::is_plainly_positive(const Polynomial& p) const {
  const Interval r = range(p);
  return (r.has_min() && r.min >= 0) || is_sum_of_positives(p);
}

int Prover::sign(const Polynomial& p) const {
  const Interval r = range(p);
  if (r.has_min() && r.min >= 0) return 1;
  if (r.has_max() && r.max <= 0) return -1;
  if (is_sum_of_positives(p)) return 1;
  return is_sum_of_positives(-p) ? -1 : 0;
}

}  // namespace tessera::tir
