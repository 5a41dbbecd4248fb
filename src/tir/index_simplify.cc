// SPDX-License-Identifier: Apache-2.0
// What the ranges of index forms say about conditions, extremes and whole statements.
#include "tir/index_form.h"
#include "tir/walk.h"

namespace tessera::tir {

std::optional<bool> decide(const Expr& condition, const Bounds& bounds) {
  const auto difference = [&](const Expr& a, const Expr& b) {
    return range_of(add(index_form(b, bounds), index_form(a, bounds), -1), bounds);
  };
  const auto is_index = [](const Expr& e) { return e.dtype() == kInt64; };
  if (const auto* c = condition.as<IntImm>()) return c->value != 0;
  if (const auto* c = condition.as<Lt>(); c != nullptr && is_index(c->a)) {
    const Interval r = difference(c->a, c->b);
    if (r.has_min() && r.min > 0) return true;
    if (r.has_max() && r.max <= 0) return false;
  } else if (const auto* l = condition.as<Le>(); l != nullptr && is_index(l->a)) {
    const Interval r = difference(l->a, l->b);
    if (r.has_min() && r.min >= 0) return true;
    if (r.has_max() && r.max < 0) return false;
  } else if (const auto* q = condition.as<Eq>(); q != nullptr && is_index(q->a)) {
    const Interval r = difference(q->a, q->b);
    if (r.inside(0, 0)) return true;
    if ((r.has_min() && r.min > 0) || (r.has_max() && r.max < 0)) return false;
  }
  return std::nullopt;
}

// The operand of a minimum or maximum that the ranges show to be the result; null if they do not.
Expr decided_extreme(const Expr& e, const Bounds& bounds) {
  const auto lesser = [&](const Expr& a, const Expr& b) -> const Expr* {
    if (decide(le(a, b), bounds).value_or(false)) return &a;
    return decide(le(b, a), bounds).value_or(false) ? &b : nullptr;
  };
  if (const auto* m = e.as<Min>()) {
    if (const Expr* less = lesser(m->a, m->b)) return *less;
  }
  if (const auto* m = e.as<Max>()) {
    if (const Expr* less = lesser(m->a, m->b)) return less == &m->a ? m->b : m->a;
  }
  return {};
}

namespace {

Expr simplify_condition(const Expr& e, const Bounds& bounds) {
  if (const auto known = decide(e, bounds)) return bool_imm(*known);
  if (const auto* a = e.as<And>()) {
    const Expr x = simplify_condition(a->a, bounds), y = simplify_condition(a->b, bounds);
    if (const auto* c = x.as<IntImm>()) return c->value != 0 ? y : x;
    if (const auto* c = y.as<IntImm>()) return c->value != 0 ? x : y;
    return logical_and(x, y);
  }
  if (const auto* o = e.as<Or>()) {
    const Expr x = simplify_condition(o->a, bounds), y = simplify_condition(o->b, bounds);
    if (const auto* c = x.as<IntImm>()) return c->value != 0 ? x : y;
    if (const auto* c = y.as<IntImm>()) return c->value != 0 ? y : x;
    return logical_or(x, y);
  }
  return map_children(e, [&](const Expr& child) { return simplify_indices(child, bounds); });
}

// Statements: learns the loops' bounds on the way down.
class IndexSimplifier : public Mutator {
 public:
  explicit IndexSimplifier(Bounds bounds) : bounds_(std::move(bounds)) {}
  using Mutator::mutate;
  Expr mutate(const Expr& e) override { return simplify_indices(e, bounds_); }
  Stmt mutate(const Stmt& s) override {
    // A variable's definition is no expression to simplify, even where it has one value only.
    if (const auto* loop = s.as<For>()) {
      const Expr min = mutate(loop->min), extent = mutate(loop->extent);
      bounds_.set_loop(loop->var, min, extent);
      return For::make(loop->var, min, extent, loop->loop, mutate(loop->body));
    }
    if (const auto* let = s.as<LetStmt>()) {
      const Expr value = mutate(let->value);
      if (value.dtype() == kInt64) {
        bounds_.set(let->var, range_of(index_form(value, bounds_), bounds_));
      }
      return LetStmt::make(let->var, value, mutate(let->body));
    }
    return map_children(s, *this);
  }
  // A parameter must stay the object that the function's signature names.
  Buffer mutate(const Buffer& b) override { return b; }

 private:
  Bounds bounds_;
};

}  // namespace

Expr simplify_indices(const Expr& e, const Bounds& bounds) {
  if (e.dtype() == kInt64) return to_expr(index_form(e, bounds));
  if (e.dtype() == kBool) return simplify_condition(e, bounds);
  if (const auto* s = e.as<Select>()) {
    const Expr condition = simplify_condition(s->condition, bounds);
    if (const auto* c = condition.as<IntImm>()) {
      return simplify_indices(c->value != 0 ? s->yes : s->no, bounds);
    }
    return select(condition, simplify_indices(s->yes, bounds), simplify_indices(s->no, bounds));
  }
  return map_children(e, [&](const Expr& child) { return simplify_indices(child, bounds); });
}

Stmt simplify_indices(const Stmt& s, Bounds bounds) {
  return IndexSimplifier(std::move(bounds)).mutate(s);
}

}  // namespace tessera::tir
