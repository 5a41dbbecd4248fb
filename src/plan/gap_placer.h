// SPDX-License-Identifier: Apache-2.0
// Places needs by their live ranges, one after the other, each at the lowest offset that is free.
#pragma once

#include <deque>
#include <vector>

#include "plan/problem.h"

namespace tessera::plan {

class GapPlacer {
 public:
  explicit GapPlacer(const Problem& problem);  // with live ranges
  // In the first of its pools where it has room; false where none has.
  bool place(std::uint32_t need);
  const std::vector<Placement>& placements() const { return placed_; }  // pool -1: not yet
  // What the pools have taken, together.
  std::int64_t bytes() const;

 private:
  const Problem& problem_;
  std::vector<Placement> placed_;
  std::vector<std::int64_t> ends_;        // by pool
  std::deque<runtime::Occupancy> taken_;  // by pool
};

// The largest first, then by name.
void sort_by_size(const Problem& problem, std::vector<std::uint32_t>& order);

}  // namespace tessera::plan
