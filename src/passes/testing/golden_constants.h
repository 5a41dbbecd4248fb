// SPDX-License-Identifier: Apache-2.0
// Constants of goldens as lines: `// CONSTANT: float32[2,3] = 1 2`, where values repeat.
#pragma once

#include <string>

#include "constants/tensor.h"

namespace tessera::passes::testing {

// Needs the text after `CONSTANT:`.
Tensor parse_constant(const std::string& text);
// The whole line. Of a tensor whose values do not repeat soon, the first and the hash of all.
std::string constant_line(const Tensor& t);

}  // namespace tessera::passes::testing
