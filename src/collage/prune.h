// SPDX-License-Identifier: Apache-2.0
// Which candidates are worth a cost (relay-spec 9.10).
#pragma once

#include <vector>

#include "collage/candidate.h"

namespace tessera::collage {

// Greatest candidates of their spec, and where two of these overlap without being of the same
// nodes, the greatest of what is left without both, and so on. Among several of one spec with equal
// nodes the first counts. Sorted; it is not proven that they cover every graph.
std::vector<Candidate> prune(const DataflowGraph& graph, std::vector<Candidate> candidates);

}  // namespace tessera::collage
