// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "driver/html.h"
#include "plan/plan.h"

namespace tessera::driver {

// A pool of the plan as SVG: to the right the statements of the host program in order, upwards the
// bytes of the pool; a rectangle for each time that something needs its bytes, with its name. ""
// where nothing lies in the pool.
Html memory_picture(const plan::MemoryPlan& plan, std::size_t index);

}  // namespace tessera::driver
