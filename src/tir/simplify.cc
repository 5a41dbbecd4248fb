// SPDX-License-Identifier: Apache-2.0
#include "tir/simplify.h"

#include "tir/compare.h"
#include "tir/intrinsics.h"
#include "tir/print.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

constexpr int kMaxRounds = 16;      // over a whole expression
constexpr int kMaxRewrites = 1000;  // at one node

// What the operators fold when a node is built anew from its changed parts.
Expr folded(const Expr& e) {
  return visit(
      e, [&](const Cast& n) { return n.value.dtype().lanes == 1 ? cast(n.value, n.dtype) : e; },
      [&](const Not& n) { return logical_not(n.value); },
      [&](const Select& n) {
        return n.condition.as<IntImm>() != nullptr ? select(n.condition, n.yes, n.no) : e;
      },
      [&](const Call& n) {
        const Expr literal = fold_call(n);
        return literal ? literal : e;
      },
      [&]<BinaryNode N>(const N& n) {
        const bool literals =
            (n.a.template as<IntImm>() != nullptr || n.a.template as<FloatImm>() != nullptr) &&
            n.a.kind() == n.b.kind();
        return literals ? binary(KindOf<N>::value, n.a, n.b) : e;
      },
      [&](Otherwise) { return e; });
}

Expr apply_rules(const Expr& e, const Bounds& bounds) {
  const auto in_child = [&](const Expr& child) { return apply_rules(child, bounds); };
  Expr out = folded(map_children(e, in_child));
  for (int i = 0;; ++i) {
    const auto rewrite = apply_rule(out, bounds);
    if (!rewrite) return out;
    TESSERA_CHECK(i < kMaxRewrites, "rule `{}` and others do not come to rest on `{}`",
                  rewrite->rule->name, print(e));
    // What a rule builds may have parts that other rules fit.
    out = folded(map_children(rewrite->result, in_child));
  }
}

class StmtSimplifier : public Mutator {
 public:
  explicit StmtSimplifier(Bounds bounds) : bounds_(std::move(bounds)) {}
  using Mutator::mutate;
  Expr mutate(const Expr& e) override { return simplify(e, bounds_); }
  Buffer mutate(const Buffer& b) override { return b; }
  Stmt mutate(const Stmt& s) override {
    return visit(
        s, [&](const For& n) { return loop(s, n); },
        [&](const IfThenElse& n) { return branch(s, n); },
        [&](const LetStmt& n) { return let(s, n); },
        [&](const Allocate& n) {
          const Stmt body = mutate(n.body);
          if (is_empty(body)) return body;
          return body.same_as(n.body) ? s : Allocate::make(n.buffer, body);
        },
        [&](const Seq& n) {
          std::vector<Stmt> parts;
          bool changed = false;
          for (const Stmt& part : n.body) {
            parts.push_back(mutate(part));
            changed |= !parts.back().same_as(part) || is_empty(part);
          }
          std::erase_if(parts, [](const Stmt& part) { return is_empty(part); });
          return changed ? seq(std::move(parts)) : s;
        },
        [&](Otherwise) { return map_children(s, *this); });
  }

 private:
  Stmt loop(const Stmt& s, const For& n) {
    const Expr min = mutate(n.min), extent = mutate(n.extent);
    const std::int64_t* times = as_int(extent);
    if (times != nullptr && *times <= 0) return seq({});
    const bool spread = is_launch(n.loop) || n.loop == ForKind::kThreads;  // over what runs it
    if (times != nullptr && *times == 1 && !spread)
      return mutate(substitute(n.body, {{n.var.get(), min}}));
    bounds_.set_loop(n.var, min, extent);
    const Stmt body = mutate(n.body);
    if (is_empty(body)) return body;
    if (min.same_as(n.min) && extent.same_as(n.extent) && body.same_as(n.body)) return s;
    return For::make(n.var, min, extent, n.loop, body);
  }
  Stmt branch(const Stmt& s, const IfThenElse& n) {
    const Expr condition = mutate(n.condition);
    if (const auto* known = as_int(condition)) {
      if (*known != 0) return mutate(n.then_case);
      return n.else_case ? mutate(n.else_case) : seq({});
    }
    const Stmt yes = mutate(n.then_case);
    const Stmt no = n.else_case ? mutate(n.else_case) : Stmt();
    if (is_empty(yes) && is_empty(no)) return seq({});
    if (condition.same_as(n.condition) && yes.same_as(n.then_case) && no.same_as(n.else_case))
      return s;
    return IfThenElse::make(condition, yes, is_empty(no) ? Stmt() : no);
  }
  Stmt let(const Stmt& s, const LetStmt& n) {
    const Expr value = mutate(n.value);
    const ExprKind kind = value.kind();
    if (kind == ExprKind::IntImm || kind == ExprKind::FloatImm || kind == ExprKind::Var) {
      return mutate(substitute(n.body, {{n.var.get(), value}}));
    }
    if (value.dtype() == kInt64) bounds_.set(n.var, range_of(index_form(value, bounds_), bounds_));
    const Stmt body = mutate(n.body);
    bool used = false;
    for_each_node(body, [&](const Expr& e) { used |= e.same_as(n.var); });
    if (!used) return body;
    return value.same_as(n.value) && body.same_as(n.body) ? s : LetStmt::make(n.var, value, body);
  }

  Bounds bounds_;
};

}  // namespace

Expr simplify(const Expr& e, const Bounds& bounds) {
  Expr out = e;
  for (int round = 0;; ++round) {
    const Expr next = simplify_indices(apply_rules(out, bounds), bounds);
    if (equal(next, out)) return out;
    TESSERA_CHECK(round < kMaxRounds, "rules and index forms do not come to rest on `{}`",
                  print(e));
    out = next;
  }
}

Stmt simplify(const Stmt& s, const Bounds& bounds) { return StmtSimplifier(bounds).mutate(s); }

PrimFunc simplify(const PrimFunc& f) {
  Bounds bounds;
  for (const Expr& dim : f.dims) bounds.set_size(dim);
  PrimFunc out = f;
  out.body = simplify(f.body, bounds);
  return out;
}

}  // namespace tessera::tir
