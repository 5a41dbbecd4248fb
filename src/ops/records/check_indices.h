// SPDX-License-Identifier: Apache-2.0
// Indices that must lie inside of what they index. What they are compared with, for whoever checks.
#pragma once

#include "ops/attrs/check_indices.h"
#include "ops/records/definition.h"

namespace tessera::ops {

// The axis that one index counts along, and its size; int64.
struct IndexedAxis {
  Expr axis, size;
};
// The axis of slice k of the indices. `data`: the sizes of the tensor that the indices are
// of; empty where the attributes state them.
IndexedAxis indexed_axis(const CheckIndicesAttrs& attrs, const std::vector<Expr>& data,
                         std::size_t k);
// `at`: where the index stands among the indices.
IndexedAxis indexed_axis(const CheckIndicesAttrs& attrs, const std::vector<Expr>& data,
                         const Indices& at);

// Is the index in [-size, size)? Both are int64.
Expr is_inside(const Expr& index, const Expr& size);

}  // namespace tessera::ops
