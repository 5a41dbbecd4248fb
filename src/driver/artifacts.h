// SPDX-License-Identifier: Apache-2.0
// What back ends promised, against what they gave.
#pragma once

#include "module/module.h"

namespace tessera::driver {

// Every static library defines the functions that it was declared with, and no function is defined
// by two artifacts.
Result<void> check_artifacts(const Module& module);

}  // namespace tessera::driver
