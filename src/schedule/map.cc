// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>

#include "schedule/rules.h"
#include "schedule/unswitch.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

constexpr std::int64_t kMinTiledExtent = 8;
constexpr std::int64_t kTile = 16;  // elements of four bytes in a cache line
constexpr std::int64_t kMostSideBySide = 4, kLeastLanes = 8;

// A loop that moves along memory in an input which the innermost loop strides through; -1: none.
int crossing_loop(const Nest& nest, const tir::Bounds& outer) {
  const Loop& inner = nest.loops.back();
  if (inner.size() < kMinTiledExtent) return -1;
  tir::Bounds bounds = outer;
  for (const Loop& l : nest.loops) bounds.set_loop(l.var, 0, l.extent);
  for (const Access& a : accesses(nest.body, bounds)) {
    if (a.is_store || std::abs(a.offset.coefficient(inner.var)) <= 1) continue;
    for (std::size_t i = 0; i + 1 < nest.loops.size(); ++i) {
      if (a.offset.coefficient(nest.loops[i].var) == 1 && nest.loops[i].size() >= kMinTiledExtent) {
        return static_cast<int>(i);
      }
    }
  }
  return -1;
}

// Both crossing loops in tiles, the tiles' loops innermost.
Checked<Nest> tile(const Nest& nest, std::size_t crossing, const tir::Bounds& outer) {
  const std::size_t last = nest.loops.size() - 1;
  TESSERA_TRY(Nest once, split(nest, last, 2 * kTile));
  TESSERA_TRY(Nest twice, split(once, crossing, kTile));
  // Now crossing, crossing + 1 are the halves of one loop; last + 1, last + 2 those of the other.
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < twice.loops.size(); ++i) {
    if (i != crossing + 1 && i != last + 2) order.push_back(i);
  }
  order.push_back(crossing + 1);
  order.push_back(last + 2);
  return reorder(twice, order, outer);
}

// What the innermost loop's variable is divided by, the largest first; none unless each divides the
// one before it, and the first the number of iterations.
std::vector<std::int64_t> divisors(const Nest& nest) {
  const Loop& inner = nest.loops.back();
  std::set<std::int64_t, std::greater<>> found;
  const auto look = [&](const auto* division) {
    if (division == nullptr || !division->a.same_as(inner.var)) return;
    if (const std::int64_t* n = tir::as_int(division->b); n != nullptr && *n > 1) found.insert(*n);
  };
  tir::for_each_node(nest.body, [&](const tir::Expr& e) {
    look(e.as<tir::FloorDiv>());
    look(e.as<tir::FloorMod>());
  });
  std::int64_t whole = inner.size();
  for (const std::int64_t n : found) {
    if (whole < 0 || whole % n != 0) return {};
    whole = n;
  }
  return {found.begin(), found.end()};
}

// Does an address have a quotient of the innermost loop's variable? Where loops were joined,
// indices have, but addresses have not.
bool is_divided(const Nest& nest, const tir::Bounds& bounds) {
  const std::vector<Access> all = accesses(nest.body, bounds);
  return std::any_of(all.begin(), all.end(),
                     [&](const Access& a) { return a.offset.hides(nest.loops.back().var); });
}

// The iterations of the innermost loop one after the other, in its place.
Nest side_by_side(Nest nest) {
  const Loop inner = nest.loops.back();
  nest.loops.pop_back();
  std::vector<tir::Stmt> copies;
  for (std::int64_t i = 0; i < inner.size(); ++i) {
    const tir::VarMap at{{inner.var.get(), tir::Expr(i)}};
    copies.push_back(tir::substitute(tir::with_fresh_definitions(nest.body), at));
  }
  nest.body = tir::seq(std::move(copies));
  return nest;
}

// The innermost loop in parts in which no quotient of its variable changes, so that no lane has an
// address of its own: of packed weights, blocks with a scale, in which a byte is two neighbours.
Nest without_divisions(const Nest& nest, const tir::Bounds& outer) {
  const std::vector<std::int64_t> by = divisors(nest);
  if (by.empty()) return nest;
  const bool has_neighbours = by.back() <= kMostSideBySide;
  const std::int64_t before = by.size() > 1 ? by[by.size() - 2] : nest.loops.back().size();
  if ((has_neighbours ? before / by.back() : by.back()) < kLeastLanes) return nest;
  tir::Bounds bounds = outer;
  for (const Loop& l : nest.loops) bounds.set_loop(l.var, 0, l.extent);
  if (!is_divided(nest, bounds)) return nest;
  Nest parts = nest;
  for (const std::int64_t n : by) {
    auto once = split(parts, parts.loops.size() - 1, n);
    if (!once) return nest;
    parts = std::move(*once);
  }
  if (has_neighbours) parts = side_by_side(std::move(parts));
  for (const Loop& l : parts.loops) bounds.set_loop(l.var, 0, l.extent);
  parts.body = tir::simplify_indices(parts.body, bounds);
  return parts;
}

}  // namespace

tir::Stmt schedule_map(Nest nest, const tir::Bounds& outer, const Machine&) {
  if (nest.loops.empty()) return build(nest);
  nest = collapse_all(std::move(nest), outer);
  if (const int crossing = crossing_loop(nest, outer); crossing >= 0) {
    if (auto tiled = tile(nest, static_cast<std::size_t>(crossing), outer))
      nest = std::move(*tiled);
  }
  nest = without_divisions(nest, outer);
  if (auto fast = vectorise(nest, nest.loops.size() - 1, outer)) nest = std::move(*fast);
  return build_unswitched(nest);
}

}  // namespace tessera::schedule
