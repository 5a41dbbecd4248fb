// SPDX-License-Identifier: Apache-2.0
// All passes of all folders, by the names of docs/passes.md.
#pragma once

#include <span>

#include "passes/pass.h"

namespace tessera::driver {

// Graph passes first, then those of byoc, collage and lower, in the order of their lists.
std::span<const passes::Pass* const> pass_catalogue();

}  // namespace tessera::driver
