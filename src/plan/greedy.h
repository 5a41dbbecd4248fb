// SPDX-License-Identifier: Apache-2.0
// The greedy algorithms of relay-spec 8.9: each need lies behind all that conflicts with it and is
// placed already. Gaps are not filled.
#pragma once

#include <vector>

#include "plan/algorithm.h"

namespace tessera::plan {

// Places the needs of `order` (others have been left out) one after the other.
Result<std::vector<Placement>> place_behind_conflicts(const Problem& problem,
                                                      const Conflicts& conflicts,
                                                      const std::vector<std::uint32_t>& order);
// The needs that are placed in pools: largest first; then those with more conflicts, and by name
// from behind.
std::vector<std::uint32_t> by_size(const Problem& problem, const Conflicts& conflicts);

}  // namespace tessera::plan
