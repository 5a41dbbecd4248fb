// SPDX-License-Identifier: Apache-2.0
#include "plan/problem.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plan/rounding.h"

namespace tessera::plan {
namespace {

// A list of all pairs is for programs of some thousand buffers.
constexpr std::size_t kMostConflicts = 40'000'000;

struct Event {
  std::int64_t tick;
  bool ends;
  std::uint32_t need;
};

// In the order of ticks; what begins comes before what ends there.
std::vector<Event> events_of(const std::vector<Need>& needs) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    for (const TickRange& range : needs[i].live) {
      events.push_back({range.first, false, static_cast<std::uint32_t>(i)});
      events.push_back({range.last, true, static_cast<std::uint32_t>(i)});
    }
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.tick != b.tick ? a.tick < b.tick : a.ends < b.ends;
  });
  return events;
}

Diagnostic too_many_conflicts() {
  return error(Code::kNotSupported, {},
               "more than {} pairs of buffers live at the same time, and this algorithm lists them",
               kMostConflicts)
      .with_remedy("choose an algorithm that goes by live ranges: least_peak or fill_gaps");
}

std::int64_t live_bytes(const Need& need) { return std::max<std::int64_t>(need.bytes, 0); }

// The free bytes of a pool beside those taken: all together, and the largest piece.
struct Left {
  std::int64_t bytes = 0, largest = 0;
};
Left left_beside(std::vector<TickRange> taken, std::int64_t limit) {
  std::sort(taken.begin(), taken.end(),
            [](const TickRange& a, const TickRange& b) { return a.first < b.first; });
  taken.push_back({limit, limit});
  Left left;
  std::int64_t at = 0;
  for (const TickRange& bytes : taken) {
    const std::int64_t gap = std::max<std::int64_t>(std::min(bytes.first, limit) - at, 0);
    left.bytes += gap;
    left.largest = std::max(left.largest, gap);
    at = std::max(at, bytes.last);
  }
  return left;
}

struct Most {
  std::int64_t bytes = 0, tick = 0;
};
Most most_alive(const std::vector<Need>& needs) {
  std::int64_t live = 0;
  Most most;
  for (const Event& event : events_of(needs)) {
    live += event.ends ? -live_bytes(needs[event.need]) : live_bytes(needs[event.need]);
    if (live > most.bytes) most = {live, event.tick};
  }
  return most;
}

}  // namespace

std::vector<std::int32_t> candidate_pools(const Problem& problem, const Need& need) {
  if (!need.pools.empty()) return need.pools;
  std::vector<std::int32_t> all(problem.pools.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

bool live_together(const Need& a, const Need& b) {
  auto x = a.live.begin(), y = b.live.begin();
  while (x != a.live.end() && y != b.live.end()) {
    if (x->first <= y->last && y->first <= x->last) return true;
    x->last < y->last ? ++x : ++y;
  }
  return false;
}

Result<Conflicts> conflicts_of(const Problem& problem) {
  if (problem.conflicts) return *problem.conflicts;
  Conflicts conflicts(problem.needs.size());
  std::vector<std::uint32_t> alive;
  std::size_t count = 0;
  for (const Event& event : events_of(problem.needs)) {
    if (event.ends) {
      alive.erase(std::find(alive.begin(), alive.end(), event.need));
      continue;
    }
    for (const std::uint32_t other : alive) {
      conflicts[event.need].push_back(other);
      conflicts[other].push_back(event.need);
    }
    count += alive.size();
    if (count > kMostConflicts) return fail(too_many_conflicts());
    alive.push_back(event.need);
  }
  for (auto& list : conflicts) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return conflicts;
}

std::vector<Need> with_ranges(const Problem& problem) {
  std::vector<Need> needs = problem.needs;
  if (!problem.conflicts) return needs;
  std::int64_t tick = 0;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    needs[i].live = {{tick, tick}};
    for (const std::uint32_t other : (*problem.conflicts)[i]) {
      tick += 2;
      needs[i].live.push_back({tick, tick});
      if (other != i) needs[other].live.push_back({tick, tick});
    }
    tick += 2;
  }
  for (Need& need : needs) {
    std::sort(need.live.begin(), need.live.end(),
              [](const TickRange& a, const TickRange& b) { return a.first < b.first; });
  }
  return needs;
}

std::vector<std::uint32_t> placed_needs(const Problem& problem) {
  std::vector<std::uint32_t> needs;
  for (std::uint32_t i = 0; i < problem.needs.size(); ++i) {
    if (problem.needs[i].bytes >= 0) needs.push_back(i);
  }
  return needs;
}

std::int64_t pressure(const std::vector<Need>& needs) { return most_alive(needs).bytes; }

Peak peak_of(const std::vector<Need>& needs) {
  Peak peak{most_alive(needs).tick, {}};
  for (std::size_t i = 0; i < needs.size(); ++i) {
    const bool is_live = std::any_of(needs[i].live.begin(), needs[i].live.end(), [&](TickRange r) {
      return r.first <= peak.tick && peak.tick <= r.last;
    });
    if (is_live && needs[i].bytes > 0) peak.needs.push_back(i);
  }
  std::stable_sort(peak.needs.begin(), peak.needs.end(),
                   [&](std::size_t a, std::size_t b) { return needs[a].bytes > needs[b].bytes; });
  return peak;
}

std::int64_t lower_bound(const std::vector<Need>& needs) {
  std::int64_t step = std::numeric_limits<std::int64_t>::max();
  for (const Need& need : needs) {
    if (need.bytes > 0) step = std::min(step, need.align_bytes);
  }
  // What lies last is not followed by anything: the one that would lose most to its alignment.
  std::multiset<std::int64_t> paddings;
  std::int64_t live = 0, most = 0;
  for (const Event& event : events_of(needs)) {
    const Need& need = needs[event.need];
    if (need.bytes <= 0) continue;
    const std::int64_t rounded = round_up(need.bytes, step);
    live += event.ends ? -rounded : rounded;
    if (event.ends) {
      paddings.erase(paddings.find(rounded - need.bytes));
    } else {
      paddings.insert(rounded - need.bytes);
    }
    if (!paddings.empty()) most = std::max(most, live - *paddings.rbegin());
  }
  return most;
}

void set_used_bytes(const std::vector<Need>& needs, const std::vector<Placement>& placements,
                    std::vector<Pool>& pools) {
  for (Pool& pool : pools) pool.bytes = 0;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (needs[i].bytes < 0 || placements[i].pool < 0) continue;
    Pool& pool = pools[static_cast<std::size_t>(placements[i].pool)];
    pool.bytes = std::max(pool.bytes, placements[i].offset + needs[i].bytes);
  }
}

Diagnostic out_of_space(const Problem& problem, std::size_t need,
                        const std::vector<Placement>& placements) {
  const std::vector<Need> needs = with_ranges(problem);
  std::vector<std::string> left;
  const std::vector<std::int32_t> candidates = candidate_pools(problem, needs[need]);
  for (std::size_t p = 0; p < problem.pools.size(); ++p) {
    const Pool& pool = problem.pools[p];
    if (std::find(candidates.begin(), candidates.end(), p) == candidates.end()) {
      left.push_back(fmt::format("`{}` is not for it", pool.name));
      continue;
    }
    std::vector<TickRange> taken;
    for (std::size_t i = 0; i < needs.size(); ++i) {
      const bool is_here = i != need && placements[i].pool == static_cast<std::int32_t>(p);
      if (!is_here || !live_together(needs[i], needs[need])) continue;
      taken.push_back({placements[i].offset, placements[i].offset + needs[i].bytes});
    }
    const Left room = left_beside(std::move(taken), pool.limit_bytes);
    left.push_back(fmt::format("`{}` of {} bytes has {} left while it lives, in one piece {}",
                               pool.name, pool.limit_bytes, room.bytes, room.largest));
  }
  return error(Code::kNotSupported, {}, "no memory pool has room for `{}` ({} bytes): {}",
               needs[need].name, needs[need].bytes, fmt::join(left, "; "))
      .with_remedy("raise the size of a pool, or add one without a size");
}

}  // namespace tessera::plan
