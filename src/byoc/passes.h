// SPDX-License-Identifier: Apache-2.0
// The passes of this folder: from patterns to partitions and back (relay-spec 2.6-2.10, 3).
#pragma once

#include <span>

#include "passes/pass.h"

namespace tessera::byoc {

// In the order of passes.def.
std::span<const passes::Pass* const> all_passes();

}  // namespace tessera::byoc
