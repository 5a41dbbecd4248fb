// SPDX-License-Identifier: Apache-2.0
// Products and convolutions that no back end took, where that costs time: generated code runs them,
// which may take ten or a hundred times as long as a library. On a CPU, products of float32 with
// constant matrices do not.
#pragma once

#include <optional>

#include "driver/placement.h"

namespace tessera::driver {

// From so many on they are told: generated code takes a millisecond.
constexpr double kManyMultiplications = 1e6;

// One warning for all of them, about those that take longest; `placed` is what back ends left.
std::optional<Diagnostic> slow_products(const Module& placed, const PlacementFacts& facts);

}  // namespace tessera::driver
