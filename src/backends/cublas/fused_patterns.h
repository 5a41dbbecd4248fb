// SPDX-License-Identifier: Apache-2.0
// What the back end takes, beside Relay's table of cuBLAS (patterns.h), which passes on text have.
#pragma once

#include <vector>

#include "relay/patterns/pattern_table.h"

namespace tessera::backends::cublas {

// Captures are as describe() reads them.
std::vector<relay::CompositePattern> fused_patterns();

}  // namespace tessera::backends::cublas
