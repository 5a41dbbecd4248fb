// SPDX-License-Identifier: Apache-2.0
// Indices that must lie inside of what they index. What they are compared with, for whoever checks.
#pragma once

#include "ops/definition.h"

namespace tessera::ops {

// Of one index: the axis that it counts along, and its size; int64.
struct IndexedAxis {
  Expr axis, size;
};
// `at`: where the index stands among the indices of a call of check_indices.
IndexedAxis indexed_axis(const ComputeArgs& args, const Indices& at);

// Is the index in [-size, size)? Both are int64.
Expr is_inside(const Expr& index, const Expr& size);

}  // namespace tessera::ops
