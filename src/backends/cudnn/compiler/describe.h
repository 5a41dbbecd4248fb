// SPDX-License-Identifier: Apache-2.0
// Composites of every kind as regions, and what they are asked when a graph is placed.
#pragma once

#include "backends/cudnn/compiler/region.h"
#include "byoc/backend.h"

namespace tessera::backends::cudnn {

// As what its operators say that it is.
Expected<Region, relay::Refusal> describe(const relay::Match& match, const Target& target);

// In order of priority, with checks that ask the library.
std::vector<relay::CompositePattern> composites();

}  // namespace tessera::backends::cudnn
