// SPDX-License-Identifier: Apache-2.0
// The cheapest candidates that cover a graph, each node once (relay-spec 9.11).
#pragma once

#include <span>
#include <vector>

#include "collage/candidate.h"

namespace tessera::collage {

struct Plan {
  std::vector<std::size_t> chosen;  // places in the list of candidates, by their first node
  Cost cost;                        // the sum
};

// Shortest path over covered sets: from each, candidates that begin at the first node that is not
// covered. Costs must be known; of equal ones the set that comes first in the order of IndexSet is
// looked at first. `candidates` are sorted. A node that no way leads past is an error.
Result<Plan> search(const DataflowGraph& graph, std::span<const Candidate> candidates);

}  // namespace tessera::collage
