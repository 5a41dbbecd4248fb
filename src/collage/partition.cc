// SPDX-License-Identifier: Apache-2.0
#include "collage/partition.h"

#include "collage/coalesce.h"
#include "collage/extract.h"
#include "collage/prune.h"
#include "collage/search.h"

namespace tessera::collage {

Candidates candidates_of(const DataflowGraph& graph, const Specs& specs) {
  std::vector<Candidate> out;
  for (const auto& spec : specs) {
    TESSERA_TRY(std::vector<Candidate> some, spec->rule(graph, *spec));
    std::move(some.begin(), some.end(), std::back_inserter(out));
  }
  return out;
}

Result<Placement> place(const DataflowGraph& graph, const Specs& specs, CandidateCosts& costs) {
  TESSERA_TRY(std::vector<Candidate> candidates, candidates_of(graph, specs));
  candidates = prune(graph, std::move(candidates));
  TESSERA_TRY_VOID(costs.estimate_all(graph, candidates));
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
