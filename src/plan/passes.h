// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "passes/pass.h"

namespace tessera::plan {

// The passes of this folder, in the order of passes.def.
std::span<const passes::Pass* const> all_passes();

}  // namespace tessera::plan
