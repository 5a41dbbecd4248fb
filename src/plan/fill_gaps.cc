// SPDX-License-Identifier: Apache-2.0
#include "plan/algorithm.h"
#include "plan/gap_placer.h"

namespace tessera::plan {
namespace {

Result<std::vector<Placement>> place_in_gaps(const Problem& problem) {
  const Problem ranged = {with_ranges(problem), problem.pools};
  GapPlacer placer(ranged);
  std::vector<std::uint32_t> order = placed_needs(ranged);
  sort_by_size(ranged, order);
  for (const std::uint32_t i : order) {
    if (!placer.place(i)) return fail(out_of_space(ranged, i, placer.placements()));
  }
  return placer.placements();
}

}  // namespace

extern const Algorithm fill_gaps;
const Algorithm fill_gaps{
    .name = "fill_gaps",
    .summary = "the largest first, each at the lowest offset that is free while it lives",
    .place = place_in_gaps,
};

}  // namespace tessera::plan
