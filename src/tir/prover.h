// SPDX-License-Identifier: Apache-2.0
// Proves inequalities between sizes and indices, for all values of the sizes: what a verifier of
// accesses asks (tir/verify_bounds.h).
//
// An expression becomes a polynomial over atoms: sizes, loop variables, quotients a // d (a % d is
// a - d * (a // d)), minima, maxima, selects, and what else there is as an unknown. What is known
// is a list of polynomials that are not negative. To prove one, an atom is removed from it by a
// known inequality that bounds the atom on the side that matters. That goes on until a sum of what
// is not negative is left. A minimum or select is split where no bound will do. The search is
// bounded, so that a "no" means "not proven". Sums and products are taken to fit 64 bits.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tir/index_form.h"
#include "tir/polynomial.h"

namespace tessera::tir {

class Prover {
 public:
  // What is learnt while it lives is forgotten with it.
  class Scope {
   public:
    explicit Scope(Prover& prover);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Prover& prover_;
    std::size_t facts_, ranges_, choices_, atoms_, keys_, unknowns_, selects_, bound_;
    bool impossible_;
  };

  // The values that a load can have; anything where none is set. One that is not constant may have
  // another value each time that it is evaluated.
  struct Loaded {
    Interval range;
    bool is_constant = true;
  };
  std::function<Loaded(const Load&)> loaded;

  void add_size(const Expr& var, Interval range = {0, Interval::kAny});
  void add_loop(const Expr& var, const Expr& min, const Expr& extent);
  void bind(const Expr& var, const Expr& value);
  void bind(const Expr& var, const Polynomial& value) {
    values_[var.get()] = value;
    bound_.push_back(var.get());
  }
  // The same as one atom, so that products of it stay products.
  void bind_named(const Expr& var, const Polynomial& value);
  void assume(const Expr& condition, bool holds = true);

  Polynomial form(const Expr& e);
  bool is_not_negative(const Polynomial& p);
  // a <= b
  bool is_at_most(const Polynomial& a, const Polynomial& b) { return is_not_negative(b - a); }

 private:
  enum class Kind : std::uint8_t { kLoop, kMin, kMax, kSelect, kQuotient, kUnknown, kNamed };
  using Facts = std::vector<Polynomial>;  // none of them negative
  using Choice = std::vector<Facts>;      // one of them holds
  struct AtomInfo {
    Kind kind = Kind::kUnknown;
    Polynomial a,
        b;  // operands of kMin, kMax and kQuotient; the values of kSelect; kLoop's ends; a: kNamed
    Choice yes, no;  // what holds where kSelect is a, or b
    Interval range;
    Facts facts;             // that define it
    std::set<Atom> support;  // all atoms that it is made of
  };
  using Key = std::tuple<Kind, Polynomial, Polynomial>;

  AtomInfo& info(Atom a) { return atoms_[static_cast<std::size_t>(a)]; }
  const AtomInfo& info(Atom a) const { return atoms_[static_cast<std::size_t>(a)]; }
  Atom add_atom(AtomInfo info);
  Polynomial unknown(const Expr& e);
  Polynomial keep(Key key, AtomInfo info);
  Polynomial fresh(Interval range);
  // Forms of two expressions, in an order that no compiler chooses: atoms are numbered when made,
  // and their numbers decide what the search tries first.
  using Forms = std::pair<Polynomial, Polynomial>;
  Forms forms(const Expr& a, const Expr& b);
  Polynomial extreme(Kind kind, const Forms& operands);
  Polynomial chosen(const Select& n);
  Polynomial quotient(const Polynomial& a, const Polynomial& divisor);
  Polynomial quotient_atom(const Polynomial& a, const Polynomial& divisor);
  std::optional<std::int64_t> times_around(const Polynomial& a, const Polynomial& divisor) const;

  Interval range(const Polynomial& p) const;
  Interval range(const Monomial& m) const;
  bool is_sum_of_positives(const Polynomial& p) const;
  bool is_plainly_positive(const Polynomial& p) const;  // or zero
  int sign(const Polynomial& p) const;                  // 0: not known

  void learn(const Polynomial& p, int depth = 0);
  void learn_ranges(const Polynomial& p);
  void learn_implied(const Polynomial& p, int depth);
  void narrow(Atom a, Interval range);
  void learn_operands(Atom a, Interval range);
  // What a condition says; a choice of nothing where that is nothing that can be used.
  Choice meaning(const Expr& condition, bool holds);
  static Choice product(const Choice& a, const Choice& b);
  void learn(const Choice& choice);
  void weigh_choices();
  bool is_refuted(const Facts& facts) const;

  // The search (prover_search.cc).
  Polynomial without_names(const Polynomial& p) const;
  bool follows(const Polynomial& goal) const;
  bool search(const Polynomial& p, int depth);
  bool by_cases(const Polynomial& p, int depth);
  bool without(Atom x, const Polynomial& p, int depth);
  bool split(Atom x, const Polynomial& p, int sign, int depth);
  bool branch(const Polynomial& p, Atom x, const Polynomial& value, const Choice& known, int depth);
  std::vector<Atom> removable(const Polynomial& p) const;

  std::vector<AtomInfo> atoms_;
  std::map<Key, Atom> known_;
  std::vector<Key> keys_;  // of those, in their order
  std::vector<std::pair<Expr, Atom>> unknowns_;
  std::vector<Atom> selects_;
  std::unordered_map<const ExprNode*, Polynomial> values_;  // of variables
  std::unordered_map<const ExprNode*, Expr> conditions_;    // of those of bool
  std::vector<const ExprNode*> bound_;                      // variables, in their order
  Facts facts_;
  std::vector<Choice> choices_;  // of several possibilities each
  std::vector<std::pair<Atom, Interval>> old_ranges_;
  bool impossible_ = false;
  std::set<Polynomial> tried_;
  int budget_ = 0;
  // Which bounds of an atom are tried first: those that define it, or the conditions around.
  enum class Order : std::uint8_t { kOwnFactsFirst, kOwnFactsLast };
  Order order_ = Order::kOwnFactsFirst;
  bool searching_ = false;
  int narrowing_ = 0;
  std::vector<std::size_t> cases_;  // choices that are being gone through
};

}  // namespace tessera::tir
