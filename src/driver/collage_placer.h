// SPDX-License-Identifier: Apache-2.0
// `--partition collage`: each sub-graph goes to whom it was measured fastest with, by the sum over
// the model (src/collage/model_plan.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "byoc/placer.h"
#include "collage/model_plan.h"
#include "driver/compile.h"
#include "driver/given_placement.h"
#include "driver/machine_code.h"
#include "driver/measured_costs.h"
#include "link/toolchain.h"

namespace tessera::driver {

// Names of plans that are compared whole.
constexpr std::string_view kSearchedPlan = "collage", kGreedyPlan = "greedy";
constexpr std::string_view kNativePlan = "native";
std::string name_of_plan_alone(std::string_view back_end);  // `onednn alone`

class CollagePlacer final : public byoc::Placer {
 public:
  // All must live as long.
  CollagePlacer(const CompileOptions& options, const MachineCode& code, link::Toolchain& toolchain,
                byoc::MadeParts* made, const Progress& progress)
      : options_(options), code_(code), toolchain_(toolchain), made_(made), progress_(progress) {}

  // Functions with branches or loops inside are placed greedily. An error where costs are missing
  // and must not be measured.
  Result<byoc::PartitionOutcome> place(Module module,
                                       std::span<const byoc::BackendChoice> choices) override;

  CollageReport report;
  std::vector<Diagnostic> warnings;
  // Of `main`, for the second level: whole plans by their names, changes, and whom numbers mean.
  std::map<std::string, collage::NodePlacement> seeds;
  std::vector<collage::Move> moves;
  std::vector<std::string> names;

 private:
  // Nothing where the order of the targets decides.
  Result<std::optional<byoc::Assignment>> search(const Module& module, const std::string& name,
                                                 const std::vector<byoc::BackendChoice>& back_ends,
                                                 MeasuredCosts& costs);
  void add_predictions(const std::vector<collage::Cost>& costs,
                       const std::vector<byoc::BackendChoice>& back_ends);
  void keep(collage::SecondLevel second, const byoc::Assignment& assignment,
            const std::vector<byoc::BackendChoice>& back_ends);
  void add_run(double seconds);
  bool is_on_gpu() const;

  const CompileOptions& options_;
  const MachineCode& code_;
  link::Toolchain& toolchain_;
  byoc::MadeParts* made_;
  const Progress& progress_;
};

}  // namespace tessera::driver
