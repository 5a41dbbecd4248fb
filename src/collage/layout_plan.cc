// SPDX-License-Identifier: Apache-2.0
#include "collage/layout_plan.h"

#include <algorithm>
#include <numeric>

namespace tessera::collage {
namespace {

using relay::NodeId;

constexpr std::size_t kWidth = 2000;  // as that of model plans
constexpr std::size_t kNoProgram = static_cast<std::size_t>(-1);

bool is_usable(const Cost& cost) { return cost.is_known() && !cost.is_invalid(); }

}  // namespace

Result<LayoutPlanner> LayoutPlanner::make(const Module& module, const std::string& function,
                                          std::vector<byoc::BackendChoice> back_ends,
                                          std::vector<Layouts> layouts, const Target& machine,
                                          bool norms) {
  LayoutPlanner planner;
  planner.module_ = &module;
  planner.back_ends_ = std::move(back_ends);
  planner.graph_ = std::make_unique<DataflowGraph>(module.functions.at(function), module.constants);
  planner.specs_ = model_specs(planner.back_ends_, machine, module.constants);
  planner.orders_.resize(planner.graph_->size());
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    TESSERA_TRY(LayoutGraph graph, LayoutGraph::make(module, *planner.graph_, layouts[i]));
    if (!graph.changes_anything()) continue;
    planner.note_orders(graph);
    planner.graphs_.push_back(std::move(graph));
    places.push_back(i + 1);
  }
  if (planner.graphs_.empty()) return planner;
  TESSERA_TRY_VOID(planner.add_plain(norms));
  for (std::size_t g = 0; g < places.size(); ++g) {
    TESSERA_TRY_VOID(planner.add_laid_out(planner.graphs_[g], places[g], norms));
    planner.add_views(planner.graphs_[g], places[g]);
  }
  return planner;
}

void LayoutPlanner::note_orders(const LayoutGraph& graph) {
  for (Index index = 0; index < graph_->size(); ++index) {
    const passes::Permutation* axes = graph.axes_of(index);
    if (axes == nullptr) continue;
    std::vector<passes::Permutation>& orders = orders_[index];
    if (std::find(orders.begin(), orders.end(), *axes) == orders.end()) orders.push_back(*axes);
  }
}

// Graphs that put a value into the same order agree on its form.
Forms LayoutPlanner::form_of(const LayoutGraph& graph, Index value) const {
  const auto& orders = orders_[value];
  const auto at = std::find(orders.begin(), orders.end(), *graph.axes_of(value));
  return kPlainForm << (1 + (at - orders.begin()));
}

LayoutBorders::Candidate LayoutPlanner::border_of(
    const LayoutGraph* graph, const SubGraph& plain, const std::vector<Index>& permuted_inputs,
    const std::vector<Index>& permuted_outputs) const {
  LayoutBorders::Candidate border;
  for (const Index index : permuted_inputs) {
    border.reads.push_back({index, form_of(*graph, index)});
  }
  for (const Index index : plain.input(*graph_)) {
    const bool has_forms = !orders_[index].empty();
    if (has_forms &&
        std::find(permuted_inputs.begin(), permuted_inputs.end(), index) == permuted_inputs.end()) {
      border.reads_plain.push_back(index);
    }
  }
  for (const Index index : permuted_outputs) {
    border.gives.push_back({index, form_of(*graph, index)});
  }
  return border;
}

Result<void> LayoutPlanner::add_plain(bool norms) {
  TESSERA_TRY(ModelCandidates all, model_candidates(*graph_, specs_, back_ends_, norms));
  for (std::size_t i = 0; i < all.list.size(); ++i) {
    Entry entry{std::move(all.list[i]), 0, {}, {}, all.costs_as[i]};
    const SubGraph& sub_graph = entry.candidate.sub_graph;
    entry.border = border_of(nullptr, sub_graph, {}, {});
    if (all.costs_as[i] == i && !entry.candidate.cost.is_known()) {
      entry.program = program_of(*graph_, sub_graph);
    }
    candidates_.push_back(std::move(entry));
  }
  return {};
}

Result<void> LayoutPlanner::add_laid_out(const LayoutGraph& graph, std::size_t layout, bool norms) {
  TESSERA_TRY(ModelCandidates all, model_candidates(graph.graph(), specs_, back_ends_, norms));
  std::vector<std::optional<std::size_t>> places(all.list.size());
  const auto add = [&](std::size_t i, bool of_groups) {
    const Candidate& made = all.list[i];
    const bool is_of_group = all.costs_as[i] != i;
    if (is_of_group != of_groups || (is_of_group && !places[all.costs_as[i]])) return;
    const bool is_back_end = made.spec->priority < back_ends_.size();
    const auto found = graph.on_plain(
        *graph_, made.sub_graph,
        is_back_end ? LayoutGraph::Conversions::kStay : LayoutGraph::Conversions::kAreLeftOut);
    if (!found) return;
    places[i] = candidates_.size();
    Entry entry{{made.rule, found->plain, made.spec, made.cost}, layout, {}, {}, *places[i]};
    entry.border = border_of(&graph, found->plain, found->inputs, found->outputs);
    if (is_of_group) {
      entry.costs_as = *places[all.costs_as[i]];
    } else if (!made.cost.is_known()) {
      entry.program = program_of(graph.graph(), found->made);
    }
    candidates_.push_back(std::move(entry));
  };
  for (const bool of_groups : {false, true}) {
    for (std::size_t i = 0; i < all.list.size(); ++i) add(i, of_groups);
  }
  return {};
}

void LayoutPlanner::add_views(const LayoutGraph& graph, std::size_t layout) {
  for (const LayoutGraph::View& view : graph.views(*graph_)) {
    Candidate candidate = single_node(*graph_, *specs_.back(), view.value, "view");
    candidate.cost = Cost::of(0);
    const std::vector<Index> value = {view.value}, none;
    const SubGraph& sub_graph = candidate.sub_graph;
    const IndexSet inputs = sub_graph.input(*graph_);
    const std::vector<Index> data(inputs.begin(), inputs.end());
    LayoutBorders::Candidate border = border_of(
        &graph, sub_graph, view.reads_permuted ? data : none, view.is_permuted ? value : none);
    candidates_.push_back(
        {std::move(candidate), layout, {}, std::move(border), candidates_.size()});
  }
}

// Programs in other layouts all at once: a pass over many functions begins once.
Result<void> LayoutPlanner::add_programs(const FinishLayouts& finish, ProgramBatch& batch,
                                         std::vector<std::size_t>& numbers) {
  std::vector<std::size_t> laid_out;
  std::vector<relay::Function> programs;
  numbers.assign(candidates_.size(), kNoProgram);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    Entry& entry = candidates_[i];
    if (entry.program.num_nodes() == 0) continue;
    if (entry.layout == 0) {
      numbers[i] = batch.add(*entry.candidate.spec, std::move(entry.program));
    } else {
      laid_out.push_back(i);
      programs.push_back(std::move(entry.program));
    }
    entry.program = {};
  }
  TESSERA_TRY(std::vector<relay::Function> finished, finished_programs(*module_, programs, finish));
  for (std::size_t k = 0; k < laid_out.size(); ++k) {
    numbers[laid_out[k]] =
        batch.add(*candidates_[laid_out[k]].candidate.spec, std::move(finished[k]));
  }
  return {};
}

Result<void> LayoutPlanner::add_conversions(ProgramBatch& batch) {
  const PlacementSpec& native = *specs_[back_ends_.size()];
  for (Index index = 0; index < graph_->size(); ++index) {
    for (std::size_t k = 0; k < orders_[index].size(); ++k) {
      const passes::Permutation& axes = orders_[index][k];
      const Type& type = graph_->function().type((*graph_)[index].node);
      Conversion conversion{index, kPlainForm << (k + 1)};
      if (!type.is_tensor()) {
        // Its fields are converted, before there is a tuple of them.
        conversion.to_form_cost = conversion.to_plain_cost = Cost::invalid("a tuple");
      } else if (type.rank() == axes.size() && !is_view(type, axes)) {
        TESSERA_TRY(relay::Function to_form, conversion_program(type, axes));
        TESSERA_TRY(relay::Function to_plain,
                    conversion_program(to_form.type(to_form.result()), passes::inverse(axes)));
        conversion.to_form = batch.add(native, std::move(to_form));
        conversion.to_plain = batch.add(native, std::move(to_plain));
        conversion.is_measured = true;
      }
      conversions_.push_back(std::move(conversion));
    }
  }
  return {};
}

Result<void> LayoutPlanner::estimate(CostEstimator& estimator, const FinishLayouts& finish) {
  ProgramBatch batch(*module_);
  std::vector<std::size_t> numbers;
  TESSERA_TRY_VOID(add_programs(finish, batch, numbers));
  TESSERA_TRY_VOID(add_conversions(batch));
  TESSERA_TRY(const std::vector<Cost> costs, batch.estimate(estimator));
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (numbers[i] != kNoProgram) candidates_[i].candidate.cost = costs[numbers[i]];
  }
  for (Entry& entry : candidates_)
    entry.candidate.cost = candidates_[entry.costs_as].candidate.cost;
  for (Conversion& conversion : conversions_) {
    if (!conversion.is_measured) continue;
    conversion.to_form_cost = costs[conversion.to_form];
    conversion.to_plain_cost = costs[conversion.to_plain];
  }
  return {};
}

LayoutBorders LayoutPlanner::borders(const std::vector<std::size_t>& usable) const {
  LayoutBorders out(*graph_);
  for (const std::size_t i : usable) out.add(candidates_[i].border);
  // What nobody knows the cost of is not done.
  const auto seconds = [](const Cost& cost) {
    return is_usable(cost) ? cost.seconds() : std::numeric_limits<double>::infinity();
  };
  for (const Conversion& conversion : conversions_) {
    out.set_seconds(conversion.value, conversion.form, seconds(conversion.to_form_cost),
                    seconds(conversion.to_plain_cost));
  }
  return out;
}

Result<LayoutPlan> LayoutPlanner::plan() const {
  std::vector<std::size_t> usable;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (is_usable(candidates_[i].candidate.cost)) usable.push_back(i);
  }
  std::stable_sort(usable.begin(), usable.end(), [&](std::size_t a, std::size_t b) {
    return candidates_[a].candidate < candidates_[b].candidate;
  });
  std::vector<Candidate> sorted;
  for (const std::size_t i : usable) sorted.push_back(candidates_[i].candidate);
  const LayoutBorders between = borders(usable);
  TESSERA_TRY(const BoundedPlan found, bounded_search(*graph_, sorted, kWidth, &between));
  LayoutPlan out;
  out.cost = found.cost;
  out.dropped = found.dropped;
  out.by_node.assign(graph_->function().num_nodes(), 0);
  std::vector<ValueForms> forms;
  Covered covered;
  for (const std::size_t i : found.chosen) {
    const IndexSet& inside = sorted[i].sub_graph.inside();
    covered = with(covered, inside);
    Borders::Crossed crossed = between.cross(forms, i, covered);
    forms = std::move(crossed.forms);
    out.conversion_seconds += crossed.seconds;
    out.conversions += crossed.seconds > 0;
    for (const Index index : inside) {
      const NodeId node = (*graph_)[index].node;
      if (node) out.by_node[node.index()] = candidates_[usable[i]].layout;
    }
  }
  return out;
}

}  // namespace tessera::collage
