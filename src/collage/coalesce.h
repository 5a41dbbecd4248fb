// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "collage/candidate.h"

namespace tessera::collage {

// Disjoint candidates, where those of one spec and one basic block that touch have become one,
// again and again: a spec that computes neighbours gets one function for them (relay-spec 9.11).
// The result is sorted.
std::vector<Candidate> coalesce(const DataflowGraph& graph, std::vector<Candidate> candidates);

}  // namespace tessera::collage
