// SPDX-License-Identifier: Apache-2.0
// How long whole plans of a model take, against each other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "driver/options.h"
#include "driver/program_timing.h"

namespace tessera::driver {

// In turns; on a CPU in three processes one after the other, of which each plan has the median:
// what else runs on a machine slows a process for seconds, and not all of its plans alike. The last
// plan is what the others must compute, within `tolerance`. `command` as in program_timing.h.
std::vector<tune::Measured> time_whole_plans(std::span<const LibraryProgram> plans,
                                             double tolerance, const CompileOptions& options,
                                             const std::string& command);

// Why not a single one has a time. Sizes that the model does not say are guessed, and it may not
// take them.
Diagnostic no_plan_timed(const SymbolTable& symbols, const std::string& why);

}  // namespace tessera::driver
