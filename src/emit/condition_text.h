// SPDX-License-Identifier: Apache-2.0
// What a condition that fails (tir::Require) is in C.
#pragma once

#include "support/source.h"
#include "tir/conditions.h"

namespace tessera::emit {

// A literal for printf that takes the values as `long long`.
Source condition_format(const tir::Require& n);

// What a kernel returns the result of.
inline Literal failing_call(const tir::PrimFunc& f) {
  return tir::checks_indices(f) ? Literal("tessera_index_outside") : "tessera_call_failed";
}

}  // namespace tessera::emit
