// SPDX-License-Identifier: Apache-2.0
#include "plan/gap_placer.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "support/check.h"

namespace tessera::plan {
namespace {

runtime::Wanted wanted_by(const Need& need) {
  return {need.live.data(), need.live.size(), need.bytes, need.align_bytes};
}

}  // namespace

GapPlacer::GapPlacer(const Problem& problem)
    : problem_(problem),
      placed_(problem.needs.size(), Placement{-1, 0}),
      ends_(problem.pools.size()) {
  std::int64_t step = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> ticks;
  for (const Need& need : problem.needs) {
    step = std::min(step, need.align_bytes);
    for (const TickRange& range : need.live) ticks.insert(ticks.end(), {range.first, range.last});
  }
  for (std::size_t pool = 0; pool < problem.pools.size(); ++pool) {
    const bool created = taken_.emplace_back().create(ticks.data(), ticks.size(), step);
    TESSERA_CHECK(created, "out of memory");
  }
}

bool GapPlacer::place(std::uint32_t i) {
  const Need& need = problem_.needs[i];
  for (const std::int32_t p : candidate_pools(problem_, need)) {
    const auto pool = static_cast<std::size_t>(p);
    const std::int64_t offset = taken_[pool].first_gap(wanted_by(need));
    const std::int64_t end = offset + need.bytes;
    const std::int64_t limit = problem_.pools[pool].limit_bytes;
    if (limit >= 0 && end > limit) continue;
    placed_[i] = {p, offset};
    ends_[pool] = std::max(ends_[pool], end);
    TESSERA_CHECK(taken_[pool].add(wanted_by(need), offset), "out of memory");
    return true;
  }
  return false;
}

std::int64_t GapPlacer::bytes() const {
  return std::accumulate(ends_.begin(), ends_.end(), std::int64_t{0});
}

void sort_by_size(const Problem& problem, std::vector<std::uint32_t>& order) {
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Need &x = problem.needs[a], &y = problem.needs[b];
    return x.bytes != y.bytes ? x.bytes > y.bytes : x.name < y.name;
  });
}

}  // namespace tessera::plan
