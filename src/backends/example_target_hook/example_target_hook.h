// SPDX-License-Identifier: Apache-2.0
// The back end that docs/backends.md walks through: nn.relu, add and concatenate as loop IR, which
// the rest of the compiler schedules and compiles. It needs no library and no runtime part.
#pragma once

#include "byoc/backend.h"

namespace tessera::backends {

const byoc::Backend& example_target_hook_backend();

}  // namespace tessera::backends
