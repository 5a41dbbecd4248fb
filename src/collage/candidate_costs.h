// SPDX-License-Identifier: Apache-2.0
// The costs of candidates, and the names of their functions: structurally equal ones share both
// (relay-spec 9.7, 9.8).
#pragma once

#include <map>
#include <string>

#include "byoc/global_symbols.h"
#include "collage/candidate.h"

namespace tessera::collage {

class CandidateCosts : public byoc::GlobalSymbolCache {
 public:
  // Functions of candidates are called `collage_<back end>_<label>`, as far as the module leaves
  // these names free. The estimator must live as long.
  CandidateCosts(const Module& module, CostEstimator& estimator);

  // Gives each candidate whose cost is not known that of its function, in their order.
  Result<void> estimate_all(const DataflowGraph& graph, std::vector<Candidate>& candidates);
  // The symbol of a function that was no candidate: without a label.
  Result<std::string> symbol_of(const relay::Function& function) override;

 private:
  Result<Cost> cost_of(const DataflowGraph& graph, const Candidate& candidate);
  Result<Cost> estimate(relay::Function main, const Target& target);

  CostEstimator& estimator_;
  std::string label_;  // of the candidate that is looked at
  byoc::SharedGlobalSymbols symbols_;
  std::map<std::string, Cost> costs_;  // by symbol
  Module program_;                     // what is estimated, over the module's constants
};

}  // namespace tessera::collage
