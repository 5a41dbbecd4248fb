// SPDX-License-Identifier: Apache-2.0
// What a planner of memory is asked: needs, of which some must lie apart, and pools to lie in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/pool.h"
#include "runtime/occupancy.h"
#include "tir/buffer.h"

namespace tessera::plan {

using runtime::TickRange;  // of the program's statements

// Something that needs bytes for a time. A use inside a loop counts for the whole loop.
struct Need {
  std::string name;        // of the buffer, or "workspace of SYMBOL"
  std::int64_t bytes = 0;  // for the largest dimensions; -1: of the heap
  std::int64_t align_bytes = tir::kDefaultAlignBytes;
  std::vector<TickRange> live;  // ascending; a buffer has one, a workspace one for each call
  std::vector<std::int32_t> pools = {};  // where it may lie, in order of preference; empty: all
};

struct Placement {
  std::int32_t pool = 0;  // index into the pools
  std::int64_t offset = 0;
};

// Of each need those that it must lie apart from.
using Conflicts = std::vector<std::vector<std::uint32_t>>;

struct Problem {
  std::vector<Need> needs;
  std::vector<Pool> pools;
  // In place of live ranges. Each need asks about its own list: one that is on no list is in
  // nobody's way.
  std::optional<Conflicts> conflicts = {};
};
// Needs of the problem that lie in pools, as they stand there.
std::vector<std::uint32_t> placed_needs(const Problem& problem);

// Indices of the pools where the need may lie, in order of preference.
std::vector<std::int32_t> candidate_pools(const Problem& problem, const Need& need);
bool live_together(const Need& a, const Need& b);
// Those given, or those of the live ranges. An error where there are too many to list.
Result<Conflicts> conflicts_of(const Problem& problem);
// The same needs with live ranges, where only conflicts are given: each is a tick of its own.
std::vector<Need> with_ranges(const Problem& problem);

// The most bytes that live at once.
std::int64_t pressure(const std::vector<Need>& needs);
// The first tick at which they do, and the needs that live then, the largest first.
struct Peak {
  std::int64_t tick = 0;
  std::vector<std::size_t> needs;
};
Peak peak_of(const std::vector<Need>& needs);
// No plan has fewer bytes: the pressure, and what alignment adds between what lives at once.
std::int64_t lower_bound(const std::vector<Need>& needs);
// What the placements take of each pool, into Pool::bytes. Those with the pool -1 take nothing.
void set_used_bytes(const std::vector<Need>& needs, const std::vector<Placement>& placements,
                    std::vector<Pool>& pools);

// A need for which no pool has room beside what is placed, and what each pool has left for it.
// Those that are not placed yet have the pool -1.
Diagnostic out_of_space(const Problem& problem, std::size_t need,
                        const std::vector<Placement>& placements);

}  // namespace tessera::plan
