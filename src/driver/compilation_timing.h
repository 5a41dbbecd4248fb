// SPDX-License-Identifier: Apache-2.0
// How programs of a compilation are timed: on its machine, with the threads that the model will
// have.
#pragma once

#include <cstdint>
#include <string>

#include "driver/options.h"
#include "driver/program_timing.h"

namespace tessera::driver {

// Parts of a model, each by itself. `model_bytes`: of the model's weights.
ProgramTiming timing_of_parts(const CompileOptions& options, std::uint64_t model_bytes);
// Whole models.
ProgramTiming timing_of_models(const CompileOptions& options);
// What keys of records of such times say, beside the machine, so that times which are no longer
// measured in the same way are not taken for each other. `model_bytes` as above.
std::string how_timed(const CompileOptions& options, std::uint64_t model_bytes = 0);

}  // namespace tessera::driver
