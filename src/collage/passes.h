// SPDX-License-Identifier: Apache-2.0
// The passes of this folder (relay-spec 9).
#pragma once

#include <span>

#include "passes/pass.h"

namespace tessera::collage {

// In the order of passes.def.
std::span<const passes::Pass* const> all_passes();

}  // namespace tessera::collage
