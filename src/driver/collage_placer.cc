// SPDX-License-Identifier: Apache-2.0
#include "driver/collage_placer.h"

#include <algorithm>

#include <fmt/format.h>

#include "collage/model_plan.h"
#include "driver/device_of_costs.h"
#include "driver/measured_costs.h"
#include "driver/pipeline.h"
#include "driver/tuning.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

// Of greedy plans in the planner's order: each back end's, that of all, generated code.
std::string greedy_plan_name(std::size_t i, const std::vector<byoc::BackendChoice>& back_ends) {
  if (i < back_ends.size()) return name_of_plan_alone(back_ends[i].backend->name());
  return std::string(i == back_ends.size() ? kGreedyPlan : kNativePlan);
}

}  // namespace

std::string name_of_plan_alone(std::string_view back_end) {
  return fmt::format("{} alone", back_end);
}

Result<byoc::PartitionOutcome> CollagePlacer::place(Module module,
                                                    std::span<const byoc::BackendChoice> choices) {
  const auto [back_ends, rest] = split_choices(choices);
  TESSERA_TRY(const std::string path, records_path(options_));
  TESSERA_TRY(tune::RecordStore records, tune::RecordStore::open(path));
  TESSERA_TRY(const std::string device, device_of_costs(options_, records));
  MeasuredCosts costs(options_, back_ends, rest, constant_bytes(module),
                      {device, code_, toolchain_, records, progress_.measured, made_});
  byoc::PartitionOutcome outcome;
  outcome.module = std::move(module);
  for (const std::string& name : byoc::functions_to_partition(outcome.module)) {
    TESSERA_TRY(std::optional<byoc::Assignment> assignment,
                search(outcome.module, name, back_ends, costs));
    if (assignment) assignment->of_rest = rest.backend;
    byoc::partition_function(name, choices, outcome, assignment ? &*assignment : nullptr);
  }
  add_run(costs.run_seconds());
  report.measured += costs.num_measured();
  report.failed += costs.num_failed();
  report.left += costs.num_left();
  return outcome;
}

Result<std::optional<byoc::Assignment>> CollagePlacer::search(
    const Module& module, const std::string& name,
    const std::vector<byoc::BackendChoice>& back_ends, MeasuredCosts& costs) {
  if (module.functions.at(name).num_regions() > 1) return std::optional<byoc::Assignment>();
  TESSERA_TRY(collage::ModelPlanner planner,
              collage::ModelPlanner::make(module, name, back_ends, compute_target(options_.targets),
                                          is_on_gpu()));
  TESSERA_TRY_VOID(planner.estimate(costs));
  if (costs.num_left() > 0 && !options_.tuning.measures) {
    return fail(costs.why_left(name));
  }
  Result<collage::ModelPlan> plan = planner.plan(options_.tuning.in_regions);
  report.candidates += planner.num_candidates();
  report.programs += planner.num_programs();
  if (!plan) {
    warnings.push_back(warning(Code::kBadOption, {},
                               "`{}` is placed by the order of the targets: {}", name,
                               plan.error().list.front().message)
                           .with_remedy("raise --budget"));
    return std::optional<byoc::Assignment>();
  }
  report.dropped += plan->dropped;
  report.predicted_seconds += plan->cost.seconds();
  add_predictions(planner.greedy_costs(), back_ends);
  if (name == "main") keep(planner.second_level(), plan->assignment, back_ends);
  std::move(plan->regions.begin(), plan->regions.end(), std::back_inserter(report.regions));
  return std::optional(std::move(plan->assignment));
}

// Of the first search: what follows is of a module in which back ends have declined something.
void CollagePlacer::keep(collage::SecondLevel second, const byoc::Assignment& assignment,
                         const std::vector<byoc::BackendChoice>& back_ends) {
  if (!seeds.empty()) return;
  for (const byoc::BackendChoice& choice : back_ends) {
    names.emplace_back(choice.backend->name());
  }
  for (std::size_t i = 0; i < second.greedy.size(); ++i) {
    seeds[greedy_plan_name(i, back_ends)] = std::move(second.greedy[i]);
  }
  collage::NodePlacement& searched = seeds[std::string(kSearchedPlan)];
  for (const byoc::Backend* who : assignment.by_node) {
    const auto at = std::find_if(back_ends.begin(), back_ends.end(),
                                 [&](const auto& choice) { return choice.backend == who; });
    searched.push_back(at == back_ends.end() ? collage::kNobody
                                             : static_cast<std::int16_t>(at - back_ends.begin()));
  }
  moves = std::move(second.moves);
}

// A plan is predicted where all of its functions are.
void CollagePlacer::add_predictions(const std::vector<collage::Cost>& costs,
                                    const std::vector<byoc::BackendChoice>& back_ends) {
  for (std::size_t i = 0; i < costs.size(); ++i) {
    // Unknown ones make the sum unknown.
    report.predicted[greedy_plan_name(i, back_ends)] += costs[i].seconds();
  }
}

void CollagePlacer::add_run(double seconds) {
  if (report.regions.empty()) return;
  report.predicted_seconds += seconds;
  for (auto& [name, predicted] : report.predicted) predicted += seconds;
}

bool CollagePlacer::is_on_gpu() const { return !is_on_host(compute_space(options_.targets)); }

}  // namespace tessera::driver
