// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/options.h"

namespace tessera::driver {

// Errors now, rather than after the work: a file that options name as an output is the model itself
// or another output, or cannot be written.
Result<void> check_outputs(const CompileOptions& options);

}  // namespace tessera::driver
