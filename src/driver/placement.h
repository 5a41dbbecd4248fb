// SPDX-License-Identifier: Apache-2.0
// Which back end runs what, and the files of vendor libraries that a result needs.
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

// Copies the vendor libraries of the module's artifacts beside `output`.
Result<void> bundle_libraries(const Module& module, const std::string& output);
// A folder that has vendor libraries which the system does not find by itself; "" if none.
std::string vendor_library_folder();

}  // namespace tessera::driver
