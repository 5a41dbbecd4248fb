// SPDX-License-Identifier: Apache-2.0
#include "collage/partition.h"

#include "collage/coalesce.h"
#include "collage/extract.h"
#include "collage/prune.h"
#include "collage/search.h"

namespace tessera::collage {

Result<Placement> place(const DataflowGraph& graph, const Specs& specs, CandidateCosts& costs) {
  std::vector<Candidate> candidates;
  for (const auto& spec : specs) {
    for (Candidate& candidate : spec->rule(graph, *spec)) {
      candidates.push_back(std::move(candidate));
    }
  }
  candidates = prune(graph, std::move(candidates));
  for (Candidate& candidate : candidates) {
    TESSERA_TRY(candidate.cost, costs.cost_of(graph, candidate));
  }
  TESSERA_TRY(const Plan plan, search(graph, candidates));
  Placement out{{}, plan.cost};
  for (const std::size_t i : plan.chosen) out.chosen.push_back(candidates[i]);
  return out;
}

relay::Function partition(const DataflowGraph& graph, const Placement& placement) {
  // The others become no functions, and stay as they are.
  std::vector<Candidate> wrapped;
  for (const Candidate& candidate : placement.chosen) {
    if (!candidate.sub_graph.nested().empty()) wrapped.push_back(candidate);
  }
  std::vector<NestedSubGraph> functions;
  for (const Candidate& candidate : coalesce(graph, std::move(wrapped))) {
    const auto& nested = candidate.sub_graph.nested();
    functions.insert(functions.end(), nested.begin(), nested.end());
  }
  return rewrite(graph, functions);
}

}  // namespace tessera::collage
