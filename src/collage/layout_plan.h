// SPDX-License-Identifier: Apache-2.0
// Which operators of a function are computed in which layouts, by what candidates cost in each and
// what conversions between them take. A candidate has its layout at its border: a convolution that
// a back end takes with channels last and another with channels second is a candidate of each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collage/layout_borders.h"
#include "collage/layout_graph.h"
#include "collage/layout_programs.h"
#include "collage/model_candidates.h"
#include "collage/program_batch.h"

namespace tessera::collage {

// Operators and their convolutions' layouts, as `desired` of convert-layout: "nn.conv2d:NHWC".
using Layouts = std::vector<std::string>;

struct LayoutPlan {
  // By node: one more than the place of its layouts in the planner's list; 0: as the model has it.
  std::vector<std::size_t> by_node;
  std::size_t conversions = 0;  // candidates that values are converted for, by transposes
  double conversion_seconds = 0;
  Cost cost;                // the sum, conversions included
  std::size_t dropped = 0;  // partial plans that were given up
};

class LayoutPlanner {
 public:
  // As ModelPlanner::make; the function is as it was before any layout was converted.
  static Result<LayoutPlanner> make(const Module& module, const std::string& function,
                                    std::vector<byoc::BackendChoice> back_ends,
                                    std::vector<Layouts> layouts, const Target& machine,
                                    bool norms);

  // Do any of the layouts change anything? Else there is nothing to estimate.
  bool has_choice() const { return !graphs_.empty(); }
  // Estimates each distinct program once, and conversions once a kind.
  Result<void> estimate(CostEstimator& estimator, const FinishLayouts& finish);
  Result<LayoutPlan> plan() const;
  std::size_t num_candidates() const { return candidates_.size(); }

 private:
  struct Entry {
    Candidate candidate;      // of the plain graph
    std::size_t layout = 0;   // as LayoutPlan::by_node
    relay::Function program;  // where it is estimated for itself
    LayoutBorders::Candidate border = {};
    std::size_t costs_as = 0;
  };
  // Of a value from its own order to a form, and back.
  struct Conversion {
    Index value = 0;
    Forms form = kPlainForm;
    std::size_t to_form = 0, to_plain = 0;  // programs
    Cost to_form_cost = Cost::of(0), to_plain_cost = Cost::of(0);
    bool is_measured = false;
  };
  LayoutPlanner() = default;
  Result<void> add_plain(bool norms);
  Result<void> add_laid_out(const LayoutGraph& graph, std::size_t layout, bool norms);
  void add_views(const LayoutGraph& graph, std::size_t layout);
  LayoutBorders::Candidate border_of(const LayoutGraph* graph, const SubGraph& plain,
                                     const std::vector<Index>& permuted_inputs,
                                     const std::vector<Index>& permuted_outputs) const;
  Forms form_of(const LayoutGraph& graph, Index value) const;
  void note_orders(const LayoutGraph& graph);
  Result<void> add_programs(const FinishLayouts& finish, ProgramBatch& batch,
                            std::vector<std::size_t>& numbers);
  Result<void> add_conversions(ProgramBatch& batch);
  LayoutBorders borders(const std::vector<std::size_t>& usable) const;

  const Module* module_ = nullptr;
  std::unique_ptr<DataflowGraph> graph_;
  std::vector<byoc::BackendChoice> back_ends_;
  Specs specs_;
  std::vector<LayoutGraph> graphs_;                       // that change something
  std::vector<std::vector<passes::Permutation>> orders_;  // by value: its other forms
  std::vector<Entry> candidates_;
  std::vector<Conversion> conversions_;
};

}  // namespace tessera::collage
