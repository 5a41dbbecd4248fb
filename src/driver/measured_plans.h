// SPDX-License-Identifier: Apache-2.0
// The promise of --partition collage: the library is no slower than with any back end alone. The
// plan that was searched, the greedy one, each back end's own and that of generated code alone are
// built whole, compared, and timed in turns; the fastest is written.
#pragma once

#include "driver/compile.h"

namespace tessera::driver {

Result<CompileReport> compile_fastest(const CompileOptions& options, const Progress& progress);

}  // namespace tessera::driver
