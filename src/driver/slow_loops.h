// SPDX-License-Identifier: Apache-2.0
// Loops of generated code whose instructions are for one element each, where that is much of a
// model's time: vectors would take a fraction of it.
#pragma once

#include <optional>

#include "driver/placement.h"

namespace tessera::driver {

// One warning for all kernels with such loops, about those that take longest. Beside the large
// products that no back end takes: those are told anyway (driver/slow_products.h).
std::optional<Diagnostic> slow_loops(const Module& lowered, const PlacementFacts& facts,
                                     bool converts_halves);

}  // namespace tessera::driver
