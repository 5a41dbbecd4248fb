// SPDX-License-Identifier: Apache-2.0
// Which pools what a program needs may lie in: by the memory space, and by the targets whose
// functions use it.
#pragma once

#include "plan/liveness.h"

namespace tessera::plan {

// The needs of a program with their pools, of which those for constants are none. Where none are
// given it is one, in the main memory of
// the device that the program computes on. An error names a pool that nothing of the program may
// lie in, or a need that may lie in none.
Result<Problem> problem_of(const tir::PrimFunc& main, const Module& module,
                           const Liveness& liveness, const std::vector<Pool>& pools);

}  // namespace tessera::plan
