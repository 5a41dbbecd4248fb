// SPDX-License-Identifier: Apache-2.0
// Schedules must not lose what was proven of a graph's kernels.
#pragma once

#include "module/module.h"
#include "relay/function.h"

namespace tessera::fuzz {

// The graph lowered and scheduled for a CPU. An error where every access is proven to be inside of
// its buffer as the loops were lowered, and one is not as they are scheduled: a read that came out
// of a condition, say.
Result<void> proofs_are_kept(const relay::Function& f);

}  // namespace tessera::fuzz
