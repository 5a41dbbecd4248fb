// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/nest.h"

namespace tessera::schedule {

// Joins neighbouring nests that hand elements to each other along their outer loops: one loop over
// rows, with the stages of a row one after another in it. What only one row needs shrinks to a row,
// or a scalar, on the stack. softmax: three nests over (i, j | k) become for i: for j: { max over
// k; exp; sum; divide }.
// `all` are the nests of the whole kernel, of which `kernel` may have a part: what others use stays
// where it is. `in_blocks`: reductions may have accumulators side by side (schedule_reduction), so
// that a row of what they find is handed on.
Kernel fuse_rows(const Kernel& kernel, const std::vector<tir::Stmt>& all, bool in_blocks);

}  // namespace tessera::schedule
