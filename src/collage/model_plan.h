// SPDX-License-Identifier: Apache-2.0
// The plan of a whole model: which back end computes which of a function's operators, by what
// candidates cost.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collage/model_candidates.h"

namespace tessera::collage {

// One way to compute the nodes of a region.
struct PricedWay {
  std::string who;  // a back end, or `native`
  Cost cost;
};

// A region of the plan, for people.
struct PlannedRegion {
  PricedWay chosen;
  std::vector<PricedWay> others;       // for the same operators, the cheapest first
  std::vector<std::string> operators;  // in order
  std::vector<Location> sources;       // nodes of the model
};

struct ModelPlan {
  byoc::Assignment assignment;  // `of_rest` is the caller's
  Cost cost;                    // the sum
  std::size_t dropped = 0;      // partial plans that were given up; 0: none is cheaper
  std::vector<PlannedRegion> regions;
};

// Candidates of one function and what is known of their costs. The function, its pool and the back
// ends must live as long; types are inferred, and the function has no branches or literals.
class ModelPlanner {
 public:
  static Result<ModelPlanner> make(const Module& module, const std::string& function,
                                   std::vector<byoc::BackendChoice> back_ends,
                                   const Target& machine, bool norms);

  // Estimates each distinct program once, all together.
  Result<void> estimate(CostEstimator& estimator);
  // The cheapest, by the sum of costs. Measured alone, a composite pays for borders that it does
  // not have inside of a region. With `in_regions` it counts as much less as the regions of its
  // back end cost less than the sum of their composites.
  Result<ModelPlan> plan(bool in_regions = false) const;

  std::size_t num_candidates() const { return candidates_.list.size(); }
  std::size_t num_programs() const { return num_programs_; }

 private:
  ModelPlanner() = default;
  std::vector<double> shares_in_regions() const;
  std::optional<Cost> native_sum(const IndexSet& inside) const;
  PlannedRegion describe(const Candidate& candidate) const;

  const Module* module_ = nullptr;
  std::unique_ptr<DataflowGraph> graph_;
  std::vector<byoc::BackendChoice> back_ends_;
  Specs specs_;
  ModelCandidates candidates_;
  std::size_t num_programs_ = 0;
};

}  // namespace tessera::collage
