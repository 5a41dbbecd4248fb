// SPDX-License-Identifier: Apache-2.0
#include "driver/collage_placer.h"

#include <algorithm>

#include "collage/model_plan.h"
#include "driver/measured_costs.h"
#include "driver/pipeline.h"
#include "driver/runtime_operators.h"
#include "driver/tuning.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

Diagnostic costs_missing(const std::string& function, std::size_t missing) {
  return error(Code::kBadOption, {},
               "{} candidates of `{}` have no record of what they cost here, and nothing may be "
               "measured",
               missing, function)
      .with_remedy("omit --no-measure, or name a file with --records that has them");
}

}  // namespace

Result<byoc::PartitionOutcome> CollagePlacer::place(Module module,
                                                    std::span<const byoc::BackendChoice> choices) {
  std::vector<byoc::BackendChoice> back_ends(choices.begin(), choices.end());
  const auto rest = std::find_if(back_ends.begin(), back_ends.end(), [&](const auto& choice) {
    return choice.backend == &runtime_operators(is_on_gpu());
  });
  TESSERA_CHECK(rest != back_ends.end(), "operators of the runtime have no back end");
  const byoc::BackendChoice rest_choice = *rest;
  back_ends.erase(rest);

  TESSERA_TRY(const std::string path, records_path(options_));
  TESSERA_TRY(tune::RecordStore records, tune::RecordStore::open(path));
  TESSERA_TRY(const std::string device, device_of_costs(options_, records));
  MeasuredCosts costs(options_, back_ends, rest_choice, constant_bytes(module),
                      {device, code_, toolchain_, records, progress_.measured});
  byoc::PartitionOutcome outcome;
  outcome.module = std::move(module);
  for (const std::string& name : byoc::functions_to_partition(outcome.module)) {
    TESSERA_TRY(std::optional<byoc::Assignment> assignment,
                search(outcome.module, name, back_ends, costs));
    if (assignment) assignment->of_rest = rest_choice.backend;
    byoc::partition_function(name, choices, outcome, assignment ? &*assignment : nullptr);
  }
  report.measured += costs.num_measured();
  report.failed += costs.num_failed();
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
    return fail(costs_missing(name, costs.num_left()));
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
  std::move(plan->regions.begin(), plan->regions.end(), std::back_inserter(report.regions));
  return std::optional(std::move(plan->assignment));
}

bool CollagePlacer::is_on_gpu() const {
  return compute_target(options_.targets).device() == DeviceType::kCuda;
}

}  // namespace tessera::driver
