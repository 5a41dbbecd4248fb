// SPDX-License-Identifier: Apache-2.0
// Code is generated for sizes that are numbers; what is not is refused here, in words.
#pragma once

#include "module/module.h"

namespace tessera::driver {

// Inputs with symbolic sizes, and where all inputs have numbers, the nodes whose result sizes
// depend on data. Types are inferred.
Result<void> require_static_shapes(const Module& module);

}  // namespace tessera::driver
