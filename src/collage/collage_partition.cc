// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "byoc/outline.h"
#include "collage/mock_estimator.h"
#include "collage/partition.h"
#include "ops/inference/infer_types.h"
#include "passes/pass.h"
#include "types/target_list.h"

namespace tessera::collage {
namespace {

constexpr relay::AttrRule kDepth{"1 at least", [](const relay::AttrValue& v) {
                                   return relay::AttrCodec<std::int64_t>::decode(v) >= 1;
                                 }};
constexpr relay::AttrRule kEstimates{"0 at least", [](const relay::AttrValue& v) {
                                       return relay::AttrCodec<std::int64_t>::decode(v) >= 0;
                                     }};

struct CollageOptions {
  std::int64_t tvm_max_depth = 8;
  std::int64_t byoc_max_depth = 8;
  std::vector<std::string> mock_costs;
  std::int64_t max_estimates = 0;
  static constexpr auto fields =
      std::tuple{relay::attr("tvm_max_depth", &CollageOptions::tvm_max_depth, kDepth),
                 relay::attr("byoc_max_depth", &CollageOptions::byoc_max_depth, kDepth),
                 relay::attr("mock_costs", &CollageOptions::mock_costs),
                 relay::attr("max_estimates", &CollageOptions::max_estimates, kEstimates)};
};

Result<MockEstimator> estimator_of(const CollageOptions& options, std::span<const Target> targets) {
  if (!options.mock_costs.empty()) {
    return MockEstimator::make(options.mock_costs, targets, options.max_estimates);
  }
  std::vector<std::string> example;
  for (const Target& target : targets) example.push_back(target.name() + ":1");
  return fail(error(Code::kNotSupported, {},
                    "`collage-partition` does not measure: it needs a cost for each target")
                  .with_remedy(fmt::format("write mock_costs=[{}]", fmt::join(example, ","))));
}

Result<Module> run_collage_partition(Module module, passes::PassContext& context) {
  const auto options = relay::read_attrs<CollageOptions>(context.options);
  const std::vector<Target> given(context.targets.begin(), context.targets.end());
  TESSERA_TRY(const CompilationTargets targets, resolve_targets(given));
  TESSERA_TRY(MockEstimator estimator, estimator_of(options, targets.primitive));
  CandidateCosts costs(module, estimator);
  TESSERA_TRY(const Specs specs,
              make_specs(targets.primitive, context.pattern_tables, module.constants,
                         {static_cast<std::size_t>(options.tvm_max_depth),
                          static_cast<std::size_t>(options.byoc_max_depth)}));
  for (auto& [name, f] : module.functions) {
    if (!relay::is_optimizable(f)) continue;
    CheckContext check("in @" + name);
    const DataflowGraph graph(f, module.constants);
    TESSERA_TRY(const Placement placement, place(graph, specs, costs));
    relay::Function placed = partition(graph, placement);
    f = std::move(placed);
  }
  TESSERA_TRY(module, byoc::outline_functions(std::move(module), costs, ""));
  return ops::infer_types(std::move(module));
}

}  // namespace

extern const passes::Pass collage_partition;
const passes::Pass collage_partition{
    .name = "collage-partition",
    .summary = "gives each sub-graph to whichever of the targets makes the sum of costs least",
    .options = relay::attr_schema<CollageOptions>,
    .run = run_collage_partition,
};

}  // namespace tessera::collage
