// SPDX-License-Identifier: Apache-2.0
// The tables of patterns that are known by name: those with a PATTERN_TABLE in backends.def,
// then those of all back ends. None needs a device or a library.
#pragma once

#include <vector>

#include "relay/patterns/pattern_table.h"

namespace tessera::backends {

std::vector<relay::PatternTable> pattern_tables();

}  // namespace tessera::backends
