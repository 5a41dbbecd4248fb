// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives.h"

#include <algorithm>

#include <fmt/format.h>

#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Expr;
using tir::Stmt;

Unexpected<Refused> refuse(std::string reason) { return {{std::move(reason)}}; }

const std::string& name_of(const Loop& l) { return l.var.as<tir::Var>()->name; }

// The nest below loop `at`, as a statement.
Stmt below(const Nest& nest, std::size_t at) {
  const auto begin = nest.loops.begin() + static_cast<std::ptrdiff_t>(at) + 1;
  return wrap(std::vector<Loop>(begin, nest.loops.end()), nest.body);
}

tir::Bounds bounds_above(const Nest& nest, std::size_t at, tir::Bounds bounds) {
  for (std::size_t i = 0; i <= at && i < nest.loops.size(); ++i) {
    bounds.set_loop(nest.loops[i].var, 0, nest.loops[i].extent);
  }
  return bounds;
}

}  // namespace

Checked<Nest> split(const Nest& nest, std::size_t at, std::int64_t factor) {
  const Loop& loop = nest.loops[at];
  const std::int64_t n = loop.size();
  if (n < 0) return refuse(fmt::format("the extent of `{}` is not a number", name_of(loop)));
  const Loop outer{tir::make_var(name_of(loop) + "o"), (n + factor - 1) / factor, loop.kind};
  Loop inner{tir::make_var(name_of(loop) + "i"), factor, loop.kind};
  if (n % factor != 0) inner.extent = tir::min(Expr(factor), Expr(n) - outer.var * Expr(factor));
  const tir::VarMap replaced{{loop.var.get(), outer.var * Expr(factor) + inner.var}};
  Nest out = nest;
  out.loops[at] = outer;
  out.loops.insert(out.loops.begin() + static_cast<std::ptrdiff_t>(at) + 1, inner);
  for (std::size_t i = at + 2; i < out.loops.size(); ++i) {
    out.loops[i].extent = tir::substitute(out.loops[i].extent, replaced);
  }
  out.body = tir::substitute(nest.body, replaced);
  return out;
}

Checked<Nest> reorder(const Nest& nest, const std::vector<std::size_t>& order,
                      const tir::Bounds& outer) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Loop& loop = nest.loops[order[i]];
    for (std::size_t j = 0; j < i; ++j) {
      if (tir::uses_var(nest.loops[order[j]].extent, loop.var)) {
        return refuse(fmt::format("the extent of `{}` needs `{}`", name_of(nest.loops[order[j]]),
                                  name_of(loop)));
      }
    }
    if (order[i] == i) continue;
    const Stmt whole = below(nest, 0);
    if (order[i] == 0) {
      TESSERA_TRY_VOID(check_independent(loop.var, whole, bounds_above(nest, 0, outer)));
      continue;
    }
    // As if the loop were outermost already: then no other loop encloses it.
    Nest rest = nest;
    rest.loops.erase(rest.loops.begin() + static_cast<std::ptrdiff_t>(order[i]));
    tir::Bounds bounds = outer;
    bounds.set_loop(loop.var, 0, loop.extent);
    TESSERA_TRY_VOID(check_independent(loop.var, build(rest), bounds));
  }
  Nest out = nest;
  for (std::size_t i = 0; i < order.size(); ++i) out.loops[i] = nest.loops[order[i]];
  return out;
}

Checked<Nest> parallelise(const Nest& nest, std::size_t at, const tir::Bounds& outer) {
  TESSERA_TRY_VOID(
      check_independent(nest.loops[at].var, below(nest, at), bounds_above(nest, at, outer)));
  Nest out = nest;
  out.loops[at].kind = tir::ForKind::kParallel;
  return out;
}

Checked<Nest> vectorise(const Nest& nest, std::size_t at, const tir::Bounds& outer) {
  if (at + 1 != nest.loops.size()) return refuse("only the innermost loop can be vectorised");
  bool has_loops = false;
  tir::for_each_node(nest.body, [&](const Stmt& s) { has_loops |= s.as<tir::For>() != nullptr; });
  if (has_loops) return refuse("there are loops inside of it");
  const Expr& var = nest.loops[at].var;
  const auto independent = check_independent(var, nest.body, bounds_above(nest, at, outer));
  if (!independent) {
    // One store that accumulates into a place that the loop does not move is a reduction.
    Stmt s = nest.body;
    while (const auto* let = s.as<tir::LetStmt>()) s = Stmt(let->body);
    const auto* store = s.as<tir::Store>();
    const bool accumulates =
        store != nullptr &&
        std::none_of(store->indices.begin(), store->indices.end(),
                     [&](const Expr& e) { return tir::uses_var(e, var); }) &&
        as_reduction(
            tir::seq({tir::Store::make(store->buffer, store->indices, store->value), nest.body}))
            .has_value();
    if (!accumulates) return Unexpected<Refused>{independent.error()};
  }
  Nest out = nest;
  out.loops[at].kind = tir::ForKind::kVectorized;
  return out;
}

Checked<Nest> unroll(const Nest& nest, std::size_t at) {
  if (nest.loops[at].size() < 0 || nest.loops[at].size() > 32) {
    return refuse(fmt::format("`{}` has too many iterations to unroll", name_of(nest.loops[at])));
  }
  Nest out = nest;
  out.loops[at].kind = tir::ForKind::kUnrolled;
  return out;
}

Checked<Nest> fuse_outer(const Nest& nest, std::size_t count) {
  Expr total = 1;
  std::string name;
  for (std::size_t i = 0; i < count; ++i) {
    total = total * nest.loops[i].extent;
    name += name_of(nest.loops[i]);
  }
  Nest out;
  out.loops.push_back({tir::make_var(name), total, tir::ForKind::kSerial});
  const auto rest = nest.loops.begin() + static_cast<std::ptrdiff_t>(count);
  Stmt body = wrap(std::vector<Loop>(rest, nest.loops.end()), nest.body);
  Expr inner = 1;
  std::vector<std::pair<Expr, Expr>> lets;
  for (std::size_t i = count; i-- > 0;) {
    const Expr& n = nest.loops[i].extent;
    Expr value = tir::is_int(inner, 1) ? out.loops[0].var : tir::floor_div(out.loops[0].var, inner);
    if (i != 0) value = tir::floor_mod(value, n);
    lets.emplace_back(nest.loops[i].var, value);
    inner = inner * n;
  }
  for (const auto& [var, value] : lets) body = tir::LetStmt::make(var, value, body);
  out.body = body;
  return out;
}

// ---- Collapsing
// -----------------------------------------------------------------------------------

namespace {

// Is the variable used for anything but places of loads and stores?
bool used_as_value(const Stmt& s, const Expr& var) {
  bool found = false;
  const auto in_expr = [&](auto& self, const Expr& e) -> void {
    if (e.same_as(var)) found = true;
    if (e.as<tir::Load>() != nullptr) return;
    tir::for_each_child(e, [&](const Expr& child) { self(self, child); });
  };
  tir::for_each_node(s, [&](const Stmt& part) {
    if (const auto* store = part.as<tir::Store>()) {
      in_expr(in_expr, store->value);
    } else {
      tir::for_each_child(part, [&](const Expr& child) { in_expr(in_expr, child); });
    }
  });
  return found;
}

}  // namespace

Checked<Nest> collapse(const Nest& nest, std::size_t at, const tir::Bounds& outer) {
  const Loop &a = nest.loops[at], &b = nest.loops[at + 1];
  if (a.size() < 0 || b.size() < 0) return refuse("an extent is not a number");
  const Stmt inside = below(nest, at + 1);
  if (used_as_value(inside, a.var) || used_as_value(inside, b.var)) {
    return refuse("an index is used as a value");
  }
  tir::Bounds bounds = bounds_above(nest, nest.loops.size() - 1, outer);
  tir::for_each_node(nest.body, [&](const Stmt& s) {
    if (const auto* loop = s.as<tir::For>()) bounds.set_loop(loop->var, loop->min, loop->extent);
  });
  for (const Access& x : accesses(inside, bounds)) {
    const bool linear = !x.offset.hides(a.var) && !x.offset.hides(b.var) &&
                        x.offset.coefficient(a.var) == b.size() * x.offset.coefficient(b.var);
    if (!linear) {
      return refuse(
          fmt::format("`{}` is not linear in {} and {}", x.buffer->name, name_of(a), name_of(b)));
    }
  }
  const Loop joined{tir::make_var(name_of(a) + name_of(b)), a.size() * b.size(), b.kind};
  Nest out = nest;
  out.loops[at] = joined;
  out.loops.erase(out.loops.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  bounds.set_loop(joined.var, 0, joined.extent);
  const tir::VarMap replaced{{a.var.get(), tir::floor_div(joined.var, Expr(b.size()))},
                             {b.var.get(), tir::floor_mod(joined.var, Expr(b.size()))}};
  out.body = tir::simplify_indices(tir::substitute(nest.body, replaced), bounds);
  return out;
}

Nest collapse_all(Nest nest, const tir::Bounds& outer) {
  for (std::size_t at = nest.loops.size(); at-- > 1;) {
    if (auto joined = collapse(nest, at - 1, outer)) nest = std::move(*joined);
  }
  return nest;
}

}  // namespace tessera::schedule
