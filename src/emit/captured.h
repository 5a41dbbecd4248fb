// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tir/stmt.h"

namespace tessera::emit {

// What a loop uses and does not define itself, in order of first use.
struct Captured {
  std::vector<tir::Expr> vars;
  std::vector<tir::Buffer> buffers;
};
Captured captured_by(const tir::For& n);

}  // namespace tessera::emit
