// SPDX-License-Identifier: Apache-2.0
#include "plan/greedy.h"

namespace tessera::plan {
namespace {

Result<std::vector<Placement>> place(const Problem& problem) {
  TESSERA_TRY(const Conflicts conflicts, conflicts_of(problem));
  return place_behind_conflicts(problem, conflicts, by_size(problem, conflicts));
}

}  // namespace

extern const Algorithm greedy_by_size;
const Algorithm greedy_by_size{
    .name = "greedy_by_size",
    .summary = "the largest first, each behind all that is in its way",
    .place = place,
};

}  // namespace tessera::plan
