// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "schedule/rules.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Stmt;

constexpr std::int64_t kManyIterations = 64;  // enough to share out evenly
constexpr std::int64_t kUsualSize = 16;       // of a loop whose size is known at run time
constexpr double kChunkNs = 4000;             // a part of a long vectorised loop

// A single vectorised loop becomes chunks of it.
Nest chunked(const Nest& nest, double total_ns) {
  const std::int64_t n = nest.loops[0].size();
  const double per_element = total_ns / static_cast<double>(std::max<std::int64_t>(n, 1));
  auto chunk = static_cast<std::int64_t>(kChunkNs / per_element);
  chunk = std::clamp<std::int64_t>(chunk / 256 * 256, 256, 1 << 20);
  for (std::int64_t c = chunk; c >= chunk / 4 && c >= 64; c -= 64) {
    if (n % c == 0) {
      chunk = c;
      break;
    }
  }
  auto cut = split(nest, 0, chunk);
  if (!cut) return nest;
  cut->loops[0].kind = tir::ForKind::kSerial;
  return *cut;
}

// The last block of a split loop is shorter: its extent depends on the loop around it.
bool depends_on_loop_outside(const Nest& nest, std::size_t at) {
  return std::any_of(nest.loops.begin(), nest.loops.begin() + static_cast<std::ptrdiff_t>(at),
                     [&](const Loop& l) { return tir::uses_var(nest.loops[at].extent, l.var); });
}

// How many of the outermost loops are independent, and worth joining to give every thread its
// share.
std::size_t loops_to_join(const Nest& nest) {
  std::int64_t iterations = 1;
  std::size_t count = 0;
  while (count < nest.loops.size() && iterations < kManyIterations) {
    const Loop& l = nest.loops[count];
    if (l.kind != tir::ForKind::kSerial || depends_on_loop_outside(nest, count)) break;
    if (!parallelise(nest, count)) break;
    iterations *= l.size() >= 0 ? l.size() : kUsualSize;
    ++count;
  }
  return count;
}

}  // namespace

Stmt use_threads(const Stmt& s, const Machine& machine) {
  const double work = estimated_ns(s);
  if (work < machine.parallel_ns) return s;
  Nest nest = peel(s);
  if (nest.loops.empty() || nest.loops[0].kind == tir::ForKind::kParallel) return s;
  if (nest.loops.size() == 1 && nest.loops[0].kind == tir::ForKind::kVectorized) {
    nest = chunked(nest, work);
  }
  const std::size_t count = loops_to_join(nest);
  if (count == 0) return s;
  if (count > 1) {
    auto joined = fuse_outer(nest, count);
    if (!joined) return s;
    joined->loops[0].kind = tir::ForKind::kParallel;
    return build(*joined);
  }
  auto parallel = parallelise(nest, 0);
  return parallel ? build(*parallel) : s;
}

}  // namespace tessera::schedule
