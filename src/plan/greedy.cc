// SPDX-License-Identifier: Apache-2.0
#include "plan/greedy.h"

#include <algorithm>

#include "plan/rounding.h"

namespace tessera::plan {
namespace {

// The lowest offset behind all that conflicts with the need; -1: where the pool ends before.
std::int64_t end_of_conflicts(const Problem& problem, const Conflicts& conflicts,
                              const std::vector<Placement>& placed, std::uint32_t i,
                              std::int32_t pool) {
  const Need& need = problem.needs[i];
  const std::int64_t limit = problem.pools[static_cast<std::size_t>(pool)].limit_bytes;
  std::int64_t offset = 0;
  for (const std::uint32_t other : conflicts[i]) {
    if (placed[other].pool != pool) continue;
    const std::int64_t end = placed[other].offset + problem.needs[other].bytes;
    // Where needs have one alignment, the second rounding changes nothing.
    const std::int64_t next =
        round_up(round_up(end, problem.needs[other].align_bytes), need.align_bytes);
    offset = std::max(offset, next);
  }
  return limit >= 0 && offset + need.bytes > limit ? -1 : offset;
}

}  // namespace

Result<std::vector<Placement>> place_behind_conflicts(const Problem& problem,
                                                      const Conflicts& conflicts,
                                                      const std::vector<std::uint32_t>& order) {
  std::vector<Placement> placed(problem.needs.size(), Placement{-1, 0});
  for (const std::uint32_t i : order) {
    for (const std::int32_t pool : candidate_pools(problem, problem.needs[i])) {
      const std::int64_t offset = end_of_conflicts(problem, conflicts, placed, i, pool);
      if (offset < 0) continue;
      placed[i] = {pool, offset};
      break;
    }
    if (placed[i].pool < 0) return fail(out_of_space(problem, i, placed));
  }
  return placed;
}

std::vector<std::uint32_t> by_size(const Problem& problem, const Conflicts& conflicts) {
  std::vector<std::uint32_t> order = placed_needs(problem);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Need &x = problem.needs[a], &y = problem.needs[b];
    if (x.bytes != y.bytes) return x.bytes > y.bytes;
    if (conflicts[a].size() != conflicts[b].size()) {
      return conflicts[a].size() > conflicts[b].size();
    }
    return x.name > y.name;
  });
  return order;
}

}  // namespace tessera::plan
