// SPDX-License-Identifier: Apache-2.0
// What passes ask about regions.
#pragma once

#include <vector>

#include "relay/function.h"

namespace tessera::passes {

// By region index: the body of the outermost literal with `Primitive`, `Compiler` or `Composite`
// that holds the region; invalid for regions outside of such literals. They capture nothing and
// belong to whoever made them.
std::vector<relay::RegionId> closed_bodies(const relay::Function& f);

}  // namespace tessera::passes
