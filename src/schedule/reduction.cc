// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedule/accumulator.h"
#include "schedule/rules.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::Stmt;

constexpr std::int64_t kMinVectorExtent = 8;
constexpr int kVectorsOfColumns = 4;  // accumulators side by side

// A reduction nest with the loops of both kinds joined where memory is contiguous.
struct ReductionNest {
  std::vector<Loop> spatial;
  Reduction reduction;
};

// The reduction's loops as a nest of their own; `spatial` loops are around it.
Nest inner_nest(const Reduction& r) { return {r.loops, r.update}; }

ReductionNest collapsed(Nest nest, Reduction r, const tir::Bounds& outer) {
  tir::Bounds bounds = outer;
  for (const Loop& l : nest.loops) bounds.set_loop(l.var, 0, l.extent);
  Nest inner = inner_nest(r);
  for (std::size_t at = inner.loops.size(); at-- > 1;) {
    if (auto joined = collapse(inner, at - 1, bounds)) inner = std::move(*joined);
  }
  const Stmt init = tir::Store::make(r.target, r.indices, r.identity);
  nest.body = tir::seq({init, build(inner)});
  for (std::size_t at = nest.loops.size(); at-- > 1;) {
    if (auto joined = collapse(nest, at - 1, outer)) nest = std::move(*joined);
  }
  auto again = as_reduction(nest.body);
  TESSERA_CHECK(again.has_value(), "joining loops keeps a reduction a reduction");
  return {nest.loops, std::move(*again)};
}

// How well vectors along `var` suit the reads of the reduction: 1 for loads along memory or the
// same for all lanes, less for strides.
double fitness(const Reduction& r, const Loop& loop, const tir::Bounds& bounds) {
  if (loop.size() >= 0 && loop.size() < kMinVectorExtent) return 0;
  double sum = 0;
  int count = 0;
  for (const Access& a : accesses(r.update, bounds)) {
    if (a.buffer == r.target) continue;
    const std::int64_t step = a.offset.coefficient(loop.var);
    ++count;
    if (a.offset.hides(loop.var)) continue;
    sum += step == 0 || step == 1 ? 1 : step > 0 && step <= 4 ? 0.5 : 0.1;
  }
  return count == 0 ? 1 : sum / count;
}

Stmt vectorised(const Nest& nest, const tir::Bounds& outer) {
  if (nest.loops.empty()) return build(nest);
  auto fast = vectorise(nest, nest.loops.size() - 1, outer);
  return build(fast ? *fast : nest);
}

// One accumulator; reduction loop number `at` becomes the innermost.
Stmt along_rows(const ReductionNest& n, std::size_t at, const tir::Bounds& bounds) {
  const Reduction& r = n.reduction;
  Nest inner = inner_nest(r);
  std::rotate(inner.loops.begin() + static_cast<std::ptrdiff_t>(at),
              inner.loops.begin() + static_cast<std::ptrdiff_t>(at) + 1, inner.loops.end());
  if (r.target->shape.empty()) {  // is an accumulator already
    return wrap(n.spatial, tir::seq({tir::Store::make(r.target, r.indices, r.identity),
                                     vectorised(inner, bounds)}));
  }
  const Buffer acc =
      tir::make_buffer(r.target->name + "_acc", r.target->dtype, {}, tir::MemoryScope::kStack);
  ToAccumulator to(r.target, acc, {});
  inner.body = to.mutate(inner.body);
  const std::vector<Expr> none;
  Stmt body = tir::seq({tir::Store::make(acc, none, r.identity), vectorised(inner, bounds),
                        tir::Store::make(r.target, r.indices, tir::load(acc, {}))});
  return wrap(n.spatial, tir::Allocate::make(acc, body));
}

// The greatest width up to `limit` that divides `extent` and fills vectors; else the limit.
std::int64_t block_of(std::int64_t extent, std::int64_t lanes, std::int64_t limit) {
  if (extent <= limit) return extent;
  for (std::int64_t b = limit; b >= lanes; b -= lanes) {
    if (extent % b == 0) return b;
  }
  return limit;
}

// The loop with number `at` moved behind all others.
std::optional<Nest> with_last(const Nest& nest, std::size_t at, const tir::Bounds& outer) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < nest.loops.size(); ++i) {
    if (i != at) order.push_back(i);
  }
  order.push_back(at);
  auto moved = reorder(nest, order, outer);
  return moved ? std::optional(std::move(*moved)) : std::nullopt;
}

// `size` accumulators at most, one for each iteration of `lane`, which counts from `first` (null:
// 0).
Stmt in_block(const Reduction& r, const Loop& lane, std::int64_t size, const Expr& first) {
  const Buffer acc = tir::make_buffer(r.target->name + "_acc", r.target->dtype, {Expr(size)},
                                      tir::MemoryScope::kStack);
  const std::string& name = lane.var.as<tir::Var>()->name;
  const Expr own = tir::make_var(name);
  const tir::VarMap place{{lane.var.get(), first ? first + own : own}};
  const auto over_lanes = [&](const Stmt& body) {
    const Expr var = tir::make_var(name);
    return tir::For::make(var, Expr(0), lane.extent, tir::ForKind::kVectorized,
                          tir::substitute(body, {{own.get(), var}}));
  };
  std::vector<Expr> indices;
  for (const Expr& e : r.indices) indices.push_back(tir::substitute(e, place));
  const std::vector<Expr> at{own};
  ToAccumulator to(r.target, acc, at);
  return tir::Allocate::make(
      acc, tir::seq({over_lanes(tir::Store::make(acc, at, tir::substitute(r.identity, place))),
                     wrap(r.loops, over_lanes(to.mutate(tir::substitute(r.update, place)))),
                     over_lanes(tir::Store::make(r.target, indices, tir::load(acc, at)))}));
}

Stmt whole_nest_of(const Reduction& r) {
  return tir::seq({tir::Store::make(r.target, r.indices, r.identity), build(inner_nest(r))});
}

// Where the size of the loop is known at run time: vectors of it, and what they leave.
std::optional<Stmt> along_open_columns(const ReductionNest& n, std::size_t at,
                                       const tir::Bounds& outer, std::int64_t lanes) {
  auto moved = with_last({n.spatial, whole_nest_of(n.reduction)}, at, outer);
  if (!moved) return std::nullopt;
  const auto inside = as_reduction(moved->body);
  if (!inside) return std::nullopt;
  const Loop lane = moved->loops.back();
  moved->loops.pop_back();
  const Expr block = tir::make_var(lane.var.as<tir::Var>()->name + "o");
  const Expr whole = tir::floor_div(lane.extent, Expr(lanes));
  const Loop vector{lane.var, Expr(lanes)},
      rest{lane.var, tir::floor_mod(lane.extent, Expr(lanes))};
  const Stmt body =
      tir::seq({tir::For::make(block, Expr(0), whole, tir::ForKind::kSerial,
                               in_block(*inside, vector, lanes, block * Expr(lanes))),
                tir::with_fresh_definitions(in_block(*inside, rest, lanes, whole * Expr(lanes)))});
  return wrap(moved->loops, body);
}

// Accumulators side by side along spatial loop `at`, which becomes the innermost of the spatial
// loops in blocks.
std::optional<Stmt> along_columns(const ReductionNest& n, std::size_t at, const tir::Bounds& outer,
                                  const Machine& machine) {
  const Reduction& r = n.reduction;
  const std::int64_t lanes = machine.lanes(r.target->dtype);
  if (n.spatial[at].size() < 0) return along_open_columns(n, at, outer, lanes);
  const std::int64_t block = block_of(n.spatial[at].size(), lanes, kVectorsOfColumns * lanes);
  auto blocked = split({n.spatial, whole_nest_of(r)}, at, block);
  if (!blocked) return std::nullopt;
  auto moved = with_last(*blocked, at + 1, outer);
  if (!moved) return std::nullopt;
  const auto inside = as_reduction(moved->body);
  if (!inside) return std::nullopt;
  const Loop lane = moved->loops.back();
  moved->loops.pop_back();
  return wrap(moved->loops, in_block(*inside, lane, block, {}));
}

// Of loops of both kinds the one that vectors suit best; the innermost of equal ones.
struct Best {
  std::size_t at;
  double fitness = 0;
};
Best best_of(const Reduction& r, const std::vector<Loop>& loops, const tir::Bounds& bounds) {
  Best best{loops.empty() ? 0 : loops.size() - 1};
  for (std::size_t i = loops.size(); i-- > 0;) {
    const double f = fitness(r, loops[i], bounds);
    if (f > best.fitness) best = {i, f};
  }
  return best;
}

tir::Bounds bounds_inside(const Reduction& r, const std::vector<Loop>& spatial,
                          const tir::Bounds& outer) {
  tir::Bounds bounds = outer;
  for (const auto* loops : {&spatial, &r.loops}) {
    for (const Loop& l : *loops) bounds.set_loop(l.var, 0, l.extent);
  }
  return bounds;
}

}  // namespace

bool prefers_columns(const Nest& nest) {
  auto r = as_reduction(nest.body);
  if (!r || nest.loops.empty()) return false;
  const ReductionNest n = collapsed(nest, std::move(*r), {});
  const tir::Bounds bounds = bounds_inside(n.reduction, n.spatial, {});
  const Best column = best_of(n.reduction, n.spatial, bounds);
  return column.at + 1 == n.spatial.size() &&
         column.fitness > best_of(n.reduction, n.reduction.loops, bounds).fitness;
}

Stmt schedule_reduction(Nest nest, const tir::Bounds& outer, const Machine& machine) {
  auto reduction = as_reduction(nest.body);
  TESSERA_CHECK(reduction.has_value(), "not a reduction");
  const ReductionNest n = collapsed(std::move(nest), std::move(*reduction), outer);
  const tir::Bounds bounds = bounds_inside(n.reduction, n.spatial, outer);
  const Best row = best_of(n.reduction, n.reduction.loops, bounds);
  const Best column = best_of(n.reduction, n.spatial, bounds);
  if (column.fitness > row.fitness) {
    if (auto s = along_columns(n, column.at, outer, machine)) return *s;
  }
  if (n.reduction.loops.empty())
    return wrap(
        n.spatial,
        tir::seq({tir::Store::make(n.reduction.target, n.reduction.indices, n.reduction.identity),
                  n.reduction.update}));
  return along_rows(n, row.at, bounds);
}

}  // namespace tessera::schedule
