// SPDX-License-Identifier: Apache-2.0
// The search for a proof: atoms are removed one after the other.
#include <algorithm>
#include <numeric>

#include "tir/prover.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

constexpr int kMaxDepth = 24;
constexpr int kMaxBudget = 200;  // polynomials looked at for one question
constexpr std::size_t kMaxChoices = 4;
constexpr std::size_t kMaxTerms = 24;

// The least factors with up * p - down * fact free of the atom, where `own` and `other` are the
// atom's coefficients in the two, of equal sign and made positive.
struct Factors {
  Polynomial up = 1, down = 1;
};
Factors factors(const Polynomial& own, const Polynomial& other) {
  const auto a = own.constant(), b = other.constant();
  if (a && b) {
    const std::int64_t g = std::gcd(*a, *b);
    return {*b / g, *a / g};
  }
  if (const auto whole = own.divided_by(other); whole.rest.is_zero()) return {1, whole.quotient};
  if (const auto whole = other.divided_by(own); whole.rest.is_zero()) return {whole.quotient, 1};
  return {other, own};
}

// Do the two have a term in common?
bool may_cover(const Polynomial& fact, const Polynomial& goal) {
  return std::any_of(goal.terms().begin(), goal.terms().end(), [&](const auto& term) {
    const auto it = fact.terms().find(term.first);
    return !term.first.empty() && it != fact.terms().end() && (it->second > 0) == (term.second > 0);
  });
}

}  // namespace

bool Prover::is_not_negative(const Polynomial& p) {
  if (impossible_) return true;
  const Interval r = range(p.tightened());
  if (r.has_min() && r.min >= 0) return true;
  // What the search itself asks on the way has to be plain to see.
  if (searching_) return is_plainly_positive(p.tightened());
  searching_ = true;
  bool found = false;
  for (const Order order : {Order::kOwnFactsFirst, Order::kOwnFactsLast}) {
    order_ = order;
    tried_.clear();
    budget_ = kMaxBudget;
    found = found || search(p, kMaxDepth) || by_cases(p, kMaxDepth);
  }
  searching_ = false;
  return found;
}

// One of several things is known to hold: each of them is enough. The last ones first, which are
// the nearest.
bool Prover::by_cases(const Polynomial& p, int depth) {
  if (cases_.size() >= kMaxChoices) return false;
  std::set<Atom> matter;
  for (const auto& [monomial, factor] : p.terms()) {
    for (const Atom a : monomial) {
      matter.insert(a);
      matter.insert(info(a).support.begin(), info(a).support.end());
    }
  }
  const auto matters = [&](const Choice& choice) {
    for (const Facts& facts : choice) {
      for (const Polynomial& fact : facts) {
        if (std::any_of(matter.begin(), matter.end(), [&](Atom a) { return fact.has(a); })) {
          return true;
        }
      }
    }
    return false;
  };
  bool found = false;
  for (std::size_t i = choices_.size(); i-- > 0 && !found && budget_ > 0;) {
    const Choice choice = choices_[i];
    if (std::find(cases_.begin(), cases_.end(), i) != cases_.end() || !matters(choice)) continue;
    cases_.push_back(i);
    found = std::all_of(choice.begin(), choice.end(), [&](const Facts& facts) {
      const Scope scope(*this);
      const std::set<Polynomial> outer = std::exchange(tried_, {});
      learn(Choice{facts});
      weigh_choices();
      const bool is = search(p, depth) || by_cases(p, depth);
      tried_ = outer;
      return is;
    });
    cases_.pop_back();
  }
  return found;
}

Polynomial Prover::without_names(const Polynomial& p) const {
  for (const auto& [monomial, factor] : p.terms()) {
    for (const Atom a : monomial) {
      if (info(a).kind == Kind::kNamed) return without_names(p.with(a, info(a).a));
    }
  }
  return p;
}

// Is what is known, or what defines one of its atoms, all of it but for what is plainly positive?
bool Prover::follows(const Polynomial& goal) const {
  const auto covers = [&](const Polynomial& fact) {
    if (!may_cover(fact, goal)) return false;
    const Polynomial rest = goal - fact;
    return is_plainly_positive(rest) || is_plainly_positive(without_names(rest));
  };
  std::set<Atom> atoms;
  for (const auto& [monomial, factor] : goal.terms())
    atoms.insert(monomial.begin(), monomial.end());
  if (std::any_of(facts_.begin(), facts_.end(), covers)) return true;
  return std::any_of(atoms.begin(), atoms.end(), [&](Atom a) {
    return std::any_of(info(a).facts.begin(), info(a).facts.end(), covers);
  });
}

bool Prover::search(const Polynomial& p, int depth) {
  const Polynomial goal = p.tightened();
  if (!goal.is_exact()) return false;
  if (impossible_ || is_plainly_positive(goal) || follows(goal)) return true;
  if (goal.constant() || depth == 0 || --budget_ < 0 || goal.terms().size() > kMaxTerms)
    return false;
  if (!tried_.insert(goal).second) return false;
  for (const Atom x : removable(goal)) {
    const auto own = goal.coefficient(x);
    if (!own || sign(*own) == 0) continue;
    if (without(x, goal, depth)) return true;
    // Nothing is lost by the removal of others: another order would not do better.
    if (info(x).kind != Kind::kQuotient && info(x).kind != Kind::kUnknown) return false;
  }
  return false;
}

// Those that no other atom is made of, the ones first whose removal loses nothing.
std::vector<Atom> Prover::removable(const Polynomial& p) const {
  std::set<Atom> all, used;
  for (const auto& [monomial, factor] : p.terms()) all.insert(monomial.begin(), monomial.end());
  for (const Atom a : all) used.insert(info(a).support.begin(), info(a).support.end());
  std::vector<Atom> out;
  for (const Atom a : all) {
    if (!used.contains(a)) out.push_back(a);
  }
  std::sort(out.begin(), out.end(), [&](Atom a, Atom b) {
    return info(a).kind != info(b).kind ? info(a).kind < info(b).kind : a > b;
  });
  return out;
}

bool Prover::without(Atom x, const Polynomial& p, int depth) {
  if (info(x).kind == Kind::kNamed) return search(p.with(x, info(x).a), depth - 1);
  const auto own = p.coefficient(x);
  const int way = own ? sign(*own) : 0;
  if (way == 0) return false;
  const auto by = [&](const Polynomial& fact) {
    if (budget_ < 0 || !fact.has(x)) return false;
    const auto other = fact.coefficient(x);
    if (!other || other->is_zero() || sign(*other) != way) return false;
    const auto [up, down] = factors(*own * way, *other * way);
    if (!is_plainly_positive(up - 1) || !is_plainly_positive(down)) return false;
    // up * p >= rest > -up: then p > -1
    return search(up * p - down * fact + up - 1, depth - 1);
  };
  Facts own_facts = info(x).facts;  // bounds that are numbers first
  std::stable_partition(own_facts.begin(), own_facts.end(), [&](const Polynomial& fact) {
    const auto factor = fact.coefficient(x);
    return factor && (fact - *factor * Polynomial::of(x)).constant() && factor->constant();
  });
  const auto by_own = [&] { return std::any_of(own_facts.begin(), own_facts.end(), by); };
  if (order_ == Order::kOwnFactsFirst && by_own()) return true;
  for (std::size_t i = facts_.size(); i-- > 0;) {  // the nearest conditions first
    const Polynomial fact = facts_[i];
    if (by(fact)) return true;
  }
  if (order_ == Order::kOwnFactsLast && by_own()) return true;
  return split(x, p, way, depth);
}

bool Prover::split(Atom x, const Polynomial& p, int way, int depth) {
  const AtomInfo is = info(x);
  const auto branches = [&](const Choice& first, const Choice& second) {
    return branch(p, x, is.a, first, depth) && branch(p, x, is.b, second, depth);
  };
  const Polynomial more = is.b - is.a;
  if (is.kind == Kind::kMin && way > 0) return branches({{more}}, {{-more - 1}});
  if (is.kind == Kind::kMax && way < 0) return branches({{-more}}, {{more - 1}});
  if (is.kind == Kind::kSelect) return branches(is.yes, is.no);
  return false;
}

bool Prover::branch(const Polynomial& p, Atom x, const Polynomial& value, const Choice& known,
                    int depth) {
  if (budget_ < 0) return false;
  const Scope scope(*this);
  const std::set<Polynomial> outer = std::exchange(tried_, {});
  learn(known);
  learn(Polynomial::of(x) - value);
  learn(value - Polynomial::of(x));
  weigh_choices();
  const Polynomial rest = p.with(x, value);
  const bool found = search(rest, depth - 1) || by_cases(rest, depth - 1);
  tried_ = outer;
  return found;
}

}  // namespace tessera::tir
