// SPDX-License-Identifier: Apache-2.0
// What passes ask about norms.
#pragma once

#include "relay/operator.h"

namespace tessera::passes {

// One call that normalises each row for itself: what recognize-norms makes, and what is fused as a
// reduction.
inline bool is_row_norm(const relay::Operator& op) {
  return op.name == "nn.layer_norm" || op.name == "nn.rms_norm";
}

}  // namespace tessera::passes
