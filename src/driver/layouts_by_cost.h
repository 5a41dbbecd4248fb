// SPDX-License-Identifier: Apache-2.0
// Layouts as a part of --partition collage: each operator in the layout in which it is cheapest,
// conversions counted (src/collage/layout_plan.h).
#pragma once

#include <string>

#include "driver/compile.h"
#include "driver/machine_code.h"
#include "link/toolchain.h"

namespace tessera::driver {

struct LaidOutByCost {
  Module module;
  std::string what;  // in a line
};

struct LayoutServices {
  const MachineCode& code;
  link::Toolchain& toolchain;
  const Progress& progress;
  std::vector<Diagnostic>& warnings;
  byoc::MadeParts* made;  // null: nobody makes any
};

// Of a module whose layouts nobody has converted. An error where nothing chooses for want of costs.
Result<LaidOutByCost> lay_out_by_cost(Module plain, const CompileOptions& options,
                                      LayoutServices services);

}  // namespace tessera::driver
