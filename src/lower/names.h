// SPDX-License-Identifier: Apache-2.0
// Symbols of generated kernels, as profiles and debuggers show them:
//
//   k<number>_<operators joined by _>__<dtype>_<sizes of the first output joined by x>__native
//   k03_softmax__f32_12x128x128__native
//   k04_softmax__f32_12xnxn__native           n: a size that is known at run time
#pragma once

#include <string>
#include <vector>

#include "types/type.h"

namespace tessera::lower {

std::string kernel_symbol(int number, const std::vector<std::string>& operators, DType dtype,
                          const std::vector<std::int64_t>& shape);

}  // namespace tessera::lower
