// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "diagnostics/diagnostic.h"
#include "tir/prim_func.h"

namespace tessera::tir {

// Checks a function against the rules of the loop IR (docs/loop-ir.md) and reports all violations:
//   every variable and buffer is defined where it is used, and once on each path;
//   operands, indices, conditions and stored values have the types that their node needs;
//   an access has an index a dimension; buffers are such as can be (tir/verify_buffer.h);
//   only host programs call kernels, and they hold no parallel or vectorised loop;
//   parallel loops do not nest; what a parallel loop stores to is global or its own;
//   constant data have the shape and type of their buffer, and nothing stores to them;
//   calls name known functions with their number of operands;
//   what threads of a team share is ordered by barriers (tir/verify_teams.h).
Result<void> verify(const PrimFunc& f, std::string_view name);

}  // namespace tessera::tir
