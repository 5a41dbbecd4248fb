// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "plan/greedy.h"

namespace tessera::plan {
namespace {

Result<std::vector<Placement>> place_by_conflicts(const Problem& problem) {
  TESSERA_TRY(const Conflicts conflicts, conflicts_of(problem));
  std::vector<std::uint32_t> order = by_size(problem, conflicts);  // where conflicts are as many
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return conflicts[a].size() > conflicts[b].size();
  });
  return place_behind_conflicts(problem, conflicts, order);
}

}  // namespace

extern const Algorithm greedy_by_conflicts;
const Algorithm greedy_by_conflicts{
    .name = "greedy_by_conflicts",
    .summary = "those with the most conflicts first, each behind all that is in its way",
    .place = place_by_conflicts,
};

}  // namespace tessera::plan
