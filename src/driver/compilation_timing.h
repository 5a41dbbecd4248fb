// SPDX-License-Identifier: Apache-2.0
// How programs of a compilation are timed: on its machine, with the threads that the model will
// have.
#pragma once

#include <cstdint>

#include "driver/options.h"
#include "driver/program_timing.h"

namespace tessera::driver {

// Parts of a model, each by itself. `model_bytes`: of the model's weights.
ProgramTiming timing_of_parts(const CompileOptions& options, std::uint64_t model_bytes);
// Whole models.
ProgramTiming timing_of_models(const CompileOptions& options);

}  // namespace tessera::driver
