// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "relay/patterns/pattern_table.h"

namespace tessera::backends::cutlass {

std::vector<relay::CompositePattern> patterns();

}  // namespace tessera::backends::cutlass
