// SPDX-License-Identifier: Apache-2.0
#include "collage/model_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "collage/program.h"
#include "collage/program_batch.h"
#include "collage/search.h"

namespace tessera::collage {
namespace {

using relay::NodeId;

// States of the search that begin at one node: more than models without wide parts have.
constexpr std::size_t kWidth = 2000;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_operator(const DataflowGraph& graph, Index index) {
  return graph[index].kind == relay::IndexedKind::kNode &&
         graph.function().op(graph[index].node) != nullptr;
}

PricedWay priced(std::string who, const Cost& cost) {
  if (!cost.is_known()) {
    return {std::move(who), cost.seconds(), "it was not measured: raise --budget"};
  }
  const bool has_price = cost.why_invalid().empty();
  return {std::move(who), has_price ? cost.seconds() : kInfinity, cost.why_invalid()};
}

}  // namespace

Result<ModelPlanner> ModelPlanner::make(const Module& module, const std::string& function,
                                        std::vector<byoc::BackendChoice> back_ends,
                                        const Target& machine, bool norms) {
  ModelPlanner planner;
  planner.module_ = &module;
  planner.back_ends_ = std::move(back_ends);
  planner.graph_ = std::make_unique<DataflowGraph>(module.functions.at(function), module.constants);
  planner.specs_ = model_specs(planner.back_ends_, machine, module.constants);
  TESSERA_TRY(planner.candidates_,
              model_candidates(*planner.graph_, planner.specs_, planner.back_ends_, norms));
  planner.by_first_.resize(planner.graph_->size());
  for (std::size_t i = 0; i < planner.candidates_.list.size(); ++i) {
    planner.by_first_[planner.candidates_.list[i].sub_graph.first()].push_back(i);
  }
  return planner;
}

Result<void> ModelPlanner::estimate(CostEstimator& estimator) {
  ProgramBatch batch(*module_);
  std::vector<std::optional<std::size_t>> program_by_candidate(candidates_.list.size());
  for (std::size_t i = 0; i < candidates_.list.size(); ++i) {
    const Candidate& candidate = candidates_.list[i];
    if (candidates_.costs_as[i] != i || candidate.cost.is_known()) continue;
    program_by_candidate[i] = batch.add(*candidate.spec, program_of(*graph_, candidate.sub_graph));
  }
  num_programs_ = batch.size();
  TESSERA_TRY(const std::vector<Cost> costs, batch.estimate(estimator));
  for (std::size_t i = 0; i < candidates_.list.size(); ++i) {
    if (program_by_candidate[i]) candidates_.list[i].cost = costs[*program_by_candidate[i]];
  }
  for (std::size_t i = 0; i < candidates_.list.size(); ++i) {
    candidates_.list[i].cost = candidates_.list[candidates_.costs_as[i]].cost;
  }
  leave_to_generated_code();
  return {};
}

// Generated code computes whatever there is, and some of it not by itself: sizes may come from what
// the model computes before. An operator that has no cost by anybody is a region of its own then.
void ModelPlanner::leave_to_generated_code() {
  std::vector<bool> has_cost(graph_->size());
  std::vector<Candidate*> smallest(graph_->size());  // of what generated code failed at
  for (Candidate& candidate : candidates_.list) {
    const bool has_failed = candidate.cost.is_invalid();
    if (!candidate.cost.is_known() || (has_failed && candidate.spec->name != kNative)) continue;
    const IndexSet& inside = candidate.sub_graph.inside();
    for (const Index index : inside) {
      if (!has_failed) has_cost[index] = true;
      Candidate*& least = smallest[index];
      const bool is_least = least == nullptr || inside.count() < least->sub_graph.inside().count();
      if (has_failed && is_least) least = &candidate;
    }
  }
  for (Index index = 0; index < graph_->size(); ++index) {
    if (has_cost[index] || smallest[index] == nullptr) continue;
    Candidate& only = *smallest[index];
    only.cost = Cost::unpriced(only.cost.why_invalid());
    for (const Index inside : only.sub_graph.inside()) has_cost[inside] = true;
  }
}

// By back end: what its regions cost of the sum of their composites, 1 at most.
std::vector<double> ModelPlanner::shares_in_regions() const {
  std::vector<double> wholes(back_ends_.size(), 0), sums(back_ends_.size(), 0);
  const auto is_usable = [](const Cost& cost) { return cost.is_known() && !cost.is_invalid(); };
  for (const ModelCandidates::Region& region : candidates_.regions) {
    const Candidate& whole = candidates_.list[region.whole];
    Cost sum = Cost::of(0);
    for (const std::size_t part : region.parts) sum = sum + candidates_.list[part].cost;
    if (!is_usable(whole.cost) || !is_usable(sum)) continue;
    wholes[whole.spec->priority] += whole.cost.seconds();
    sums[whole.spec->priority] += sum.seconds();
  }
  std::vector<double> shares;
  for (std::size_t b = 0; b < back_ends_.size(); ++b) {
    shares.push_back(sums[b] > 0 ? std::min(1.0, wholes[b] / sums[b]) : 1);
  }
  return shares;
}

Result<ModelPlan> ModelPlanner::plan(bool in_regions) const {
  const std::vector<double> shares = shares_in_regions();
  std::set<std::size_t> parts;
  for (const ModelCandidates::Region& region : candidates_.regions) {
    parts.insert(region.parts.begin(), region.parts.end());
  }
  std::vector<Candidate> usable;
  for (std::size_t i = 0; i < candidates_.list.size(); ++i) {
    const Candidate& candidate = candidates_.list[i];
    if (!candidate.cost.is_known() || candidate.cost.is_invalid()) continue;
    usable.push_back(candidate);
    if (!in_regions || !parts.contains(i)) continue;
    usable.back().cost = Cost::of(candidate.cost.seconds() * shares[candidate.spec->priority]);
  }
  std::stable_sort(usable.begin(), usable.end());
  TESSERA_TRY(const BoundedPlan found, bounded_search(*graph_, usable, kWidth));
  ModelPlan out;
  out.cost = found.cost;
  out.dropped = found.dropped;
  out.assignment.by_node.assign(graph_->function().num_nodes(), nullptr);
  for (const std::size_t i : found.chosen) {
    const Candidate& candidate = usable[i];
    if (candidate.spec->name == "host") continue;
    out.regions.push_back(describe(candidate));
    if (candidate.spec->priority >= back_ends_.size()) continue;
    for (const Index index : candidate.sub_graph.inside()) {
      const NodeId node = (*graph_)[index].node;
      if (node) out.assignment.by_node[node.index()] = back_ends_[candidate.spec->priority].backend;
    }
  }
  return out;
}

// These regions, and generated code for the rest.
Cost ModelPlanner::cost_of(std::span<const std::size_t> regions) const {
  std::vector<bool> taken(graph_->size());
  std::vector<Candidate> usable;
  for (const std::size_t i : regions) {
    for (const Index index : candidates_.list[i].sub_graph.inside()) taken[index] = true;
    usable.push_back(candidates_.list[i]);
  }
  for (const Candidate& candidate : candidates_.list) {
    const bool is_rest = candidate.spec->priority >= back_ends_.size();
    if (!is_rest || !candidate.cost.is_known() || candidate.cost.is_invalid()) continue;
    const IndexSet& inside = candidate.sub_graph.inside();
    const bool is_free =
        std::none_of(inside.begin(), inside.end(), [&](Index index) { return taken[index]; });
    if (is_free) usable.push_back(candidate);
  }
  const bool is_priced = std::all_of(usable.begin(), usable.end(), [](const Candidate& candidate) {
    return candidate.cost.is_known() && !candidate.cost.is_invalid();
  });
  if (!is_priced) return {};
  std::stable_sort(usable.begin(), usable.end());
  const Result<BoundedPlan> found = bounded_search(*graph_, usable, kWidth);
  return found ? found->cost : Cost();
}

std::vector<Cost> ModelPlanner::greedy_costs() const {
  std::vector<Cost> costs;
  for (const auto& regions : candidates_.greedy) costs.push_back(cost_of(regions));
  costs.push_back(cost_of({}));
  return costs;
}

std::int16_t ModelPlanner::number_of(const Candidate& candidate) const {
  const std::size_t number = candidate.spec->priority;
  return number < back_ends_.size() ? static_cast<std::int16_t>(number) : kNobody;
}

std::vector<std::uint32_t> ModelPlanner::nodes_of(const Candidate& candidate) const {
  std::vector<std::uint32_t> nodes;
  for (const Index index : candidate.sub_graph.inside()) {
    const NodeId node = (*graph_)[index].node;
    if (node) nodes.push_back(static_cast<std::uint32_t>(node.index()));
  }
  return nodes;
}

// What costs little is tried more often: by the square of the share that the cheapest candidates of
// its nodes have of its cost.
SecondLevel ModelPlanner::second_level() const {
  SecondLevel out;
  const std::size_t count = graph_->function().num_nodes();
  for (const auto& regions : candidates_.greedy) {
    NodePlacement& placement = out.greedy.emplace_back(count, kNobody);
    for (const std::size_t i : regions) {
      const Candidate& region = candidates_.list[i];
      for (const std::uint32_t node : nodes_of(region)) placement[node] = number_of(region);
    }
  }
  out.greedy.emplace_back(count, kNobody);
  std::vector<double> least(count, kInfinity);
  const auto is_move = [](const Candidate& c) {
    return c.spec->name != "host" && c.cost.is_known() && !c.cost.is_invalid();
  };
  for (const Candidate& candidate : candidates_.list) {
    if (!is_move(candidate)) continue;
    const auto nodes = nodes_of(candidate);
    const double each = candidate.cost.seconds() / static_cast<double>(nodes.size());
    for (const std::uint32_t node : nodes) least[node] = std::min(least[node], each);
  }
  for (const Candidate& candidate : candidates_.list) {
    if (!is_move(candidate) || candidate.cost.seconds() <= 0) continue;
    Move move{nodes_of(candidate), number_of(candidate), 0};
    double sum = 0;
    for (const std::uint32_t node : move.nodes) sum += least[node];
    move.weight = std::pow(std::min(1.0, sum / candidate.cost.seconds()), 2);
    out.moves.push_back(std::move(move));
  }
  return out;
}

std::optional<Cost> ModelPlanner::native_sum(const IndexSet& inside) const {
  Cost sum = Cost::of(0);
  std::size_t covered = 0;
  for (const Index first : inside) {
    for (const std::size_t i : by_first_[first]) {
      const Candidate& candidate = candidates_.list[i];
      if (candidate.spec->name != kNative) continue;
      const IndexSet& part = candidate.sub_graph.inside();
      if (part == inside) return candidate.cost;
      if (candidates_.costs_as[i] != i) continue;
      if (!part.is_subset_of(inside) || !candidate.cost.is_known()) continue;
      sum = sum + candidate.cost;
      covered += part.count();
    }
  }
  // Parts that overlap, or leave something out, are no sum.
  return covered == inside.count() ? std::optional(sum) : std::nullopt;
}

PlannedRegion ModelPlanner::describe(const Candidate& candidate) const {
  const IndexSet& inside = candidate.sub_graph.inside();
  PlannedRegion out;
  out.chosen = priced(candidate.spec->name, candidate.cost);
  const relay::Function& f = graph_->function();
  for (const Index index : inside) {
    if (!is_operator(*graph_, index)) continue;
    const NodeId node = (*graph_)[index].node;
    out.operators.emplace_back(f.op(node)->name);
    if (f[node].location) out.sources.push_back(f[node].location);
  }
  for (const std::size_t i : by_first_[inside.first_inside()]) {
    const Candidate& other = candidates_.list[i];
    if (other.spec == candidate.spec || other.spec->priority >= back_ends_.size()) continue;
    if (other.sub_graph.inside() == inside) {
      out.others.push_back(priced(other.spec->name, other.cost));
    }
  }
  if (candidate.spec->name != kNative) {
    if (const auto sum = native_sum(inside)) {
      out.others.push_back(priced(std::string(kNative), *sum));
    }
  }
  std::stable_sort(out.others.begin(), out.others.end(),
                   [](const PricedWay& a, const PricedWay& b) { return a.seconds < b.seconds; });
  return out;
}

}  // namespace tessera::collage
