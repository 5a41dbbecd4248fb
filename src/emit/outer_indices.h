// SPDX-License-Identifier: Apache-2.0
// Vectorised loops that write bytes: to a C++ compiler a byte may be part of anything, so what such
// a loop reads is read again after each write, and where an index is read, no vectors are found.
#pragma once

#include <optional>

#include "tir/stmt.h"

namespace tessera::emit {

// The loop with the indices that are the same for all lanes read in front of it; nothing where it
// reads none, or writes no bytes.
std::optional<tir::Stmt> with_indices_in_front(const tir::For& loop);

}  // namespace tessera::emit
