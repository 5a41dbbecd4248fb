// SPDX-License-Identifier: Apache-2.0
// The plan of a whole model: which back end computes which of a function's operators, by what
// candidates cost.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collage/evolution.h"
#include "collage/model_candidates.h"
#include "collage/planned_region.h"

namespace tessera::collage {

// Where the second level begins: plans of greedy partitions, in the order of greedy_costs, and
// candidates that can run as changes.
struct SecondLevel {
  std::vector<NodePlacement> greedy;
  std::vector<Move> moves;
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

  // The sum of costs of greedy partitions: of each back end alone, in their order, of all together,
  // and of generated code alone. Unknown where not all of it can be priced.
  std::vector<Cost> greedy_costs() const;

  SecondLevel second_level() const;

  std::size_t num_candidates() const { return candidates_.list.size(); }
  std::size_t num_programs() const { return num_programs_; }

 private:
  ModelPlanner() = default;
  void leave_to_generated_code();
  std::vector<double> shares_in_regions() const;
  std::int16_t number_of(const Candidate& candidate) const;
  std::vector<std::uint32_t> nodes_of(const Candidate& candidate) const;
  Cost cost_of(std::span<const std::size_t> regions) const;
  std::optional<Cost> native_sum(const IndexSet& inside) const;
  PlannedRegion describe(const Candidate& candidate) const;

  const Module* module_ = nullptr;
  std::unique_ptr<DataflowGraph> graph_;
  std::vector<byoc::BackendChoice> back_ends_;
  Specs specs_;
  ModelCandidates candidates_;
  std::vector<std::vector<std::size_t>> by_first_;  // candidates by their first node
  std::size_t num_programs_ = 0;
};

}  // namespace tessera::collage
