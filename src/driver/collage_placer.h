// SPDX-License-Identifier: Apache-2.0
// `--partition collage`: each sub-graph goes to whom it was measured fastest with, by the sum over
// the model (src/collage/model_plan.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "byoc/placer.h"
#include "driver/compile.h"
#include "driver/machine_code.h"
#include "driver/measured_costs.h"
#include "link/toolchain.h"

namespace tessera::driver {

class CollagePlacer final : public byoc::Placer {
 public:
  // All must live as long.
  CollagePlacer(const CompileOptions& options, const MachineCode& code, link::Toolchain& toolchain,
                const Progress& progress)
      : options_(options), code_(code), toolchain_(toolchain), progress_(progress) {}

  // Functions with branches or loops inside are placed greedily. An error where costs are missing
  // and must not be measured.
  Result<byoc::PartitionOutcome> place(Module module,
                                       std::span<const byoc::BackendChoice> choices) override;

  CollageReport report;
  std::vector<Diagnostic> warnings;

 private:
  // Nothing where the order of the targets decides.
  Result<std::optional<byoc::Assignment>> search(const Module& module, const std::string& name,
                                                 const std::vector<byoc::BackendChoice>& back_ends,
                                                 MeasuredCosts& costs);
  bool is_on_gpu() const;

  const CompileOptions& options_;
  const MachineCode& code_;
  link::Toolchain& toolchain_;
  const Progress& progress_;
};

}  // namespace tessera::driver
