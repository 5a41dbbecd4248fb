// SPDX-License-Identifier: Apache-2.0
// What a call of check_indices becomes: a kernel that looks at each index before it stores it.
#pragma once

#include "constants/pool.h"
#include "relay/function.h"
#include "tir/prim_func.h"

namespace tessera::lower {

// The kernel of a region with conditions (tir::Require) in it, if the region checks indices:
// before the store, and, of sizes that a run tells, before the nest. Another kernel stays as it
// is. `kernel` is in the canonical form of lower/primitive.h.
Result<tir::PrimFunc> with_index_checks(tir::PrimFunc kernel, const relay::Function& f,
                                        relay::RegionId region, const ConstantPool& pool);

}  // namespace tessera::lower
