// SPDX-License-Identifier: Apache-2.0
// What measurements of kernels are good for: those same kernels, and no others.
#pragma once

#include <string>

#include "types/target.h"

namespace tessera::backends::cutlass {

// "1, CUTLASS 4.2.1, kernels 0123456789ab": what configurations mean, the version of CUTLASS's
// headers that the target names, and a hash of the templates around them.
std::string kernel_version(const Target& target);

}  // namespace tessera::backends::cutlass
