// SPDX-License-Identifier: Apache-2.0
// Which back end runs what.
#pragma once

#include "byoc/compile_context.h"
#include "driver/options.h"

namespace tessera::driver {

struct Placed {
  Module module;
  std::vector<PlacementRow> rows;
  std::vector<Diagnostic> warnings;
};

// Partitions `main` over the back ends of options.targets and runs their hooks; what nobody took
// stays.
Result<Placed> place_regions(Module module, const CompileOptions& options,
                             byoc::Toolchain& toolchain);

}  // namespace tessera::driver
