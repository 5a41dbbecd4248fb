// SPDX-License-Identifier: Apache-2.0
// Index expressions as constant + sum of coefficient * atom, with the ranges of variables known:
// what fusing definitions leaves behind (`(i*128 + j) // 128`) becomes what a person would have
// written (`i`).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tir/stmt.h"

namespace tessera::tir {

// Both ends are inside; the default is "anything".
struct Interval {
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  std::int64_t min = kNone, max = kAny;
  bool has_min() const { return min != kNone; }
  bool has_max() const { return max != kAny; }
  bool inside(std::int64_t low, std::int64_t high) const {
    return has_min() && has_max() && min >= low && max <= high;
  }
};

// An atom is a Var, a floor_div or floor_mod by a constant, or anything else that is not a sum.
struct IndexTerm {
  Expr atom;
  std::int64_t coefficient = 0;
};
struct IndexForm {
  std::vector<IndexTerm> terms;  // no two equal atoms, no zero coefficients
  std::int64_t constant = 0;

  bool is_constant() const { return terms.empty(); }
  // The coefficient of the atom that is this variable; 0 when there is none.
  std::int64_t coefficient(const Expr& var) const;
  // Does the variable occur inside of an atom other than itself?
  bool hides(const Expr& var) const;
};

// Forms and ranges that were asked for before. An index is asked for again by everything around it,
// so that without them the time would double with each level of nesting. They belong to one object:
// a copy starts without any.
class IndexMemo {
 public:
  IndexMemo() = default;
  IndexMemo(const IndexMemo&) {}  // NOLINT(bugprone-copy-constructor-init)
  IndexMemo& operator=(const IndexMemo& o) {
    if (this != &o) clear();
    return *this;
  }

  struct Entry {
    Expr key;  // keeps the node, whose address is the key
    std::optional<IndexForm> form;
    std::optional<Interval> range;
  };
  // The node's entry, empty at first; valid until the next call.
  Entry& of(const Expr& e);
  void clear() { entries_.clear(); }

 private:
  std::unordered_map<const ExprNode*, Entry> entries_;
};

// What is known of variables: each loop's is in [min, min + extent). Not for two threads at once.
class Bounds {
 public:
  void set(const Expr& var, Interval range);
  // A size of the signature: at least 0.
  void set_size(const Expr& var);
  void set_loop(const Expr& var, const Expr& min, const Expr& extent);
  Interval of(const Expr& var) const;
  bool is_size(const Expr& var) const { return sizes_.contains(var.get()); }
  IndexMemo& memo() const { return memo_; }

 private:
  std::unordered_map<const ExprNode*, Interval> ranges_;
  std::unordered_set<const ExprNode*> sizes_;
  mutable IndexMemo memo_;
};

IndexForm index_form(const Expr& index, const Bounds& bounds);
IndexForm add(const IndexForm& a, const IndexForm& b, std::int64_t factor = 1);  // a + factor * b
Interval range_of(const IndexForm& form, const Bounds& bounds);
// The truth of a comparison of indices, where the ranges tell.
std::optional<bool> decide(const Expr& condition, const Bounds& bounds);
// The operand of a minimum or maximum that the ranges show to be the result; null if they do not.
Expr decided_extreme(const Expr& e, const Bounds& bounds);
// Terms with the greatest coefficients first.
Expr to_expr(const IndexForm& form);

// Simplifies every index, condition and select inside of an expression or statement. Loop variables
// of the statement need no entry in `bounds`.
Expr simplify_indices(const Expr& e, const Bounds& bounds);
Stmt simplify_indices(const Stmt& s, Bounds bounds = {});

}  // namespace tessera::tir
