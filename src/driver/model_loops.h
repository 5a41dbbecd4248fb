// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "module/module.h"

namespace tessera::driver {

// Where functions that call themselves are called by others, before any pass.
std::vector<Location> model_loops(const Module& module);

}  // namespace tessera::driver
