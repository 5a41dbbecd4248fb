// SPDX-License-Identifier: Apache-2.0
// From composites to regions: which of them become one function, and the order in which regions
// and remaining nodes can run.
#pragma once

#include <vector>

#include "byoc/composites.h"

namespace tessera::byoc {

// Either composites of one back end, or one node of the function's body that stays in it.
struct Unit {
  std::int32_t choice = -1;         // -1: a node that stays
  std::vector<std::size_t> claims;  // ascending
  relay::NodeId node;               // that stays; with what is nested in it
};

// All nodes of the body but parameters and constants, each in exactly one unit, in an order in
// which every unit comes after those that it reads. Neighbouring composites of a back end that
// takes any convex region are one unit, unless that would make a cycle.
std::vector<Unit> form_units(const relay::Function& f, const Claims& claims,
                             std::span<const BackendChoice> choices);

}  // namespace tessera::byoc
