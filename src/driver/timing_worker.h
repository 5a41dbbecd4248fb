// SPDX-License-Identifier: Apache-2.0
// The measuring process: what `tessera compile` starts to time programs.
#pragma once

#include "driver/timing_request.h"
#include "support/child.h"

namespace tessera::driver {

// Prints as a measuring program does (tune/worker_report.h). It ends with the first failure of
// programs that take turns.
void measure_programs(const TimingRequest& request, const Print& print);

}  // namespace tessera::driver
