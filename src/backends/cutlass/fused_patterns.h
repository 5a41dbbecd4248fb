// SPDX-License-Identifier: Apache-2.0
// What the back end takes: products with bias, activation and residual. The table of patterns.h is
// Relay's, which people's partitioned modules were made with.
#pragma once

#include <vector>

#include "relay/patterns/pattern_table.h"

namespace tessera::backends::cutlass {

std::vector<relay::CompositePattern> fused_patterns();

}  // namespace tessera::backends::cutlass
