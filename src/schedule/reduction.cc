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

// Accumulators side by side along spatial loop `at`, which becomes the innermost of the spatial
// loops in blocks.
std::optional<Stmt> along_columns(const ReductionNest& n, std::size_t at, const tir::Bounds& outer,
                                  const Machine& machine) {
  const Reduction& r = n.reduction;
  const std::int64_t lanes = machine.lanes(r.target->dtype);
  const std::int64_t block = block_of(n.spatial[at].size(), lanes, kVectorsOfColumns * lanes);
  const Stmt init = tir::Store::make(r.target, r.indices, r.identity);
  auto blocked = split({n.spatial, tir::seq({init, build(inner_nest(r))})}, at, block);
  if (!blocked) return std::nullopt;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < blocked->loops.size(); ++i) {
    if (i != at + 1) order.push_back(i);
  }
  order.push_back(at + 1);
  auto moved = reorder(*blocked, order, outer);
  if (!moved) return std::nullopt;
  const auto inside = as_reduction(moved->body);
  if (!inside) return std::nullopt;

  const Loop lane = moved->loops.back();
  moved->loops.pop_back();
  const Buffer acc = tir::make_buffer(r.target->name + "_acc", r.target->dtype, {Expr(block)},
                                      tir::MemoryScope::kStack);
  const auto over_lanes = [&](Stmt body) {
    const Expr var = tir::make_var(lane.var.as<tir::Var>()->name);
    return tir::For::make(var, Expr(0), lane.extent, tir::ForKind::kVectorized,
                          tir::substitute(body, {{lane.var.get(), var}}));
  };
  const std::vector<Expr> own{lane.var};
  ToAccumulator to(r.target, acc, own);
  Stmt body = tir::seq(
      {over_lanes(tir::Store::make(acc, own, inside->identity)),
       wrap(inside->loops, over_lanes(to.mutate(inside->update))),
       over_lanes(tir::Store::make(inside->target, inside->indices, tir::load(acc, own)))});
  return wrap(moved->loops, tir::Allocate::make(acc, body));
}

}  // namespace

Stmt schedule_reduction(Nest nest, const tir::Bounds& outer, const Machine& machine) {
  auto reduction = as_reduction(nest.body);
  TESSERA_CHECK(reduction.has_value(), "not a reduction");
  const ReductionNest n = collapsed(std::move(nest), std::move(*reduction), outer);
  tir::Bounds bounds = outer;
  for (const Loop& l : n.spatial) bounds.set_loop(l.var, 0, l.extent);
  for (const Loop& l : n.reduction.loops) bounds.set_loop(l.var, 0, l.extent);

  double best_row = 0, best_column = 0;
  std::size_t row = n.reduction.loops.empty() ? 0 : n.reduction.loops.size() - 1, column = 0;
  for (std::size_t i = n.reduction.loops.size(); i-- > 0;) {
    const double f = fitness(n.reduction, n.reduction.loops[i], bounds);
    if (f > best_row) best_row = f, row = i;
  }
  for (std::size_t i = n.spatial.size(); i-- > 0;) {
    const double f = fitness(n.reduction, n.spatial[i], bounds);
    if (f > best_column) best_column = f, column = i;
  }
  if (best_column > best_row) {
    if (auto s = along_columns(n, column, outer, machine)) return *s;
  }
  if (n.reduction.loops.empty())
    return wrap(
        n.spatial,
        tir::seq({tir::Store::make(n.reduction.target, n.reduction.indices, n.reduction.identity),
                  n.reduction.update}));
  return along_rows(n, row, bounds);
}

}  // namespace tessera::schedule
