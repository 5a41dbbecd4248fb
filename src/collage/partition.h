// SPDX-License-Identifier: Apache-2.0
// The placement of one function: candidates, costs, search, and what comes of the plan.
#pragma once

#include "collage/candidate_costs.h"
#include "collage/specs.h"

namespace tessera::collage {

struct Placement {
  std::vector<Candidate> chosen;  // before neighbours of one back end become one function
  Cost cost;                      // their sum
};

// What all of the specs propose, in their order.
Candidates candidates_of(const DataflowGraph& graph, const Specs& specs);

// The cheapest placement of the function's nodes.
Result<Placement> place(const DataflowGraph& graph, const Specs& specs, CandidateCosts& costs);

// The function, in which literals with `Compiler` are called where the placement has candidates of
// back ends.
relay::Function partition(const DataflowGraph& graph, const Placement& placement);

}  // namespace tessera::collage
