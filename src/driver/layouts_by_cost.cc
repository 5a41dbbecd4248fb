// SPDX-License-Identifier: Apache-2.0
#include "driver/layouts_by_cost.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "collage/layout_plan.h"
#include "driver/collage_text.h"
#include "driver/device_of_costs.h"
#include "driver/given_placement.h"
#include "driver/measured_costs.h"
#include "driver/pipeline.h"
#include "driver/placement.h"
#include "driver/tuning.h"
#include "ops/inference/infer_types.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

// By node of main, whose layouts it has; null: it stays as it is.
Result<Module> converted(Module module, const collage::LayoutPlan& plan,
                         const std::vector<collage::Layouts>& layouts) {
  std::vector<passes::DesiredLayouts> desired;
  for (const collage::Layouts& texts : layouts) {
    TESSERA_TRY(desired.emplace_back(), passes::parse_desired_layouts(texts));
  }
  relay::Function& main = module.functions.at("main");
  main = passes::converted_layouts(main, module.constants, [&](relay::NodeId id) {
           const std::size_t layout = plan.by_node[id.index()];
           return layout == 0 ? nullptr : &desired[layout - 1];
         }).function;
  return ops::infer_types(std::move(module));
}

// "3 operators in nn.conv2d:NHWC:OHWI, 2 conversions of 4.1 us, sum of costs 120.3 us".
std::string text_of(const relay::Function& main, const collage::LayoutPlan& plan,
                    const std::vector<collage::Layouts>& layouts) {
  std::vector<std::size_t> counts(layouts.size());
  for (std::size_t i = 0; i < main.num_nodes(); ++i) {
    const std::size_t layout = plan.by_node[i];
    if (layout > 0 && main.op(relay::NodeId(i)) != nullptr) ++counts[layout - 1];
  }
  std::string text;
  for (std::size_t k = 0; k < layouts.size(); ++k) {
    if (counts[k] == 0) continue;
    text += fmt::format("{} operators in {}, ", counts[k], fmt::join(layouts[k], " "));
  }
  if (text.empty()) text = "as in the model, ";
  text += fmt::format("{} conversions of {}, sum of costs {}", plan.conversions,
                      microseconds(plan.conversion_seconds), microseconds(plan.cost.seconds()));
  return plan.dropped == 0 ? text : text + fmt::format(", {} partial plans given up", plan.dropped);
}

}  // namespace

Result<LaidOutByCost> lay_out_by_cost(Module plain, const CompileOptions& options,
                                      LayoutServices services) {
  const std::vector<byoc::BackendChoice> choices = placing_choices(options);
  const auto [back_ends, rest] = split_choices(choices);
  const std::vector<collage::Layouts> layouts = layouts_by_back_end(options);
  TESSERA_TRY(plain, ops::infer_types(std::move(plain)));
  TESSERA_TRY(collage::LayoutPlanner planner,
              collage::LayoutPlanner::make(plain, "main", back_ends, layouts,
                                           compute_target(options.targets),
                                           !is_on_host(compute_space(options.targets))));
  if (!planner.has_choice()) {
    TESSERA_TRY(plain, finish_layouts(std::move(plain), options, services.warnings));
    return LaidOutByCost{std::move(plain), "as in the model"};
  }
  TESSERA_TRY(const std::string path, records_path(options));
  TESSERA_TRY(tune::RecordStore records, tune::RecordStore::open(path));
  TESSERA_TRY(const std::string device, device_of_costs(options, records));
  MeasuredCosts costs(options, back_ends, rest, constant_bytes(plain),
                      {device, services.code, services.toolchain, records,
                       services.progress.measured, services.made});
  TESSERA_TRY_VOID(planner.estimate(costs, [&](Module programs) {
    return finish_layouts(std::move(programs), options, services.warnings);
  }));
  const Result<collage::LayoutPlan> plan = planner.plan();
  if (!plan) return fail(costs.num_left() > 0 ? costs.why_left("main") : plan.error());
  const std::string what = text_of(plain.functions.at("main"), *plan, layouts);
  TESSERA_TRY(Module module, converted(std::move(plain), *plan, layouts));
  TESSERA_TRY(module, finish_layouts(std::move(module), options, services.warnings));
  return LaidOutByCost{std::move(module), what};
}

}  // namespace tessera::driver
