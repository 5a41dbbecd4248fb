// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "types/dim.h"

namespace tessera::passes {

// What is known of a size: that of a number or of a symbol by itself; else nothing.
struct SizeRange {
  std::int64_t min = 0, max = -1;  // max -1: no bound
};
SizeRange range_of(const Dim& size, const SymbolTable& symbols);

}  // namespace tessera::passes
