// SPDX-License-Identifier: Apache-2.0
// Which annotated regions become one (relay-spec 2.9).
#pragma once

#include <vector>

#include "byoc/annotated_regions.h"

namespace tessera::byoc {

// By number of a region: the number that stands for the region it has become part of.
//
// Regions are taken in order of evaluation, after those that they read. Each takes in the regions
// of its target, of the same function, branch or literal, that it reads directly and that reach it
// in no other way. A second way would go through what stays outside, and the two would need each
// other. So the outcome has no cycle, and the order of the inputs does not matter.
std::vector<std::uint32_t> merge_regions(const relay::Function& f, const AnnotatedRegions& regions);

}  // namespace tessera::byoc
