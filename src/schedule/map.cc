// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "schedule/rules.h"

namespace tessera::schedule {
namespace {

constexpr std::int64_t kMinTiledExtent = 8;
constexpr std::int64_t kTile = 16;  // elements of four bytes in a cache line

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

}  // namespace

tir::Stmt schedule_map(Nest nest, const tir::Bounds& outer, const Machine&) {
  if (nest.loops.empty()) return build(nest);
  nest = collapse_all(std::move(nest), outer);
  if (const int crossing = crossing_loop(nest, outer); crossing >= 0) {
    if (auto tiled = tile(nest, static_cast<std::size_t>(crossing), outer))
      nest = std::move(*tiled);
  }
  if (auto fast = vectorise(nest, nest.loops.size() - 1, outer)) nest = std::move(*fast);
  return build(nest);
}

}  // namespace tessera::schedule
