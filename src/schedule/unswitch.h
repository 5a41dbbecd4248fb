// SPDX-License-Identifier: Apache-2.0
// Choices among tensors that an innermost loop does not change.
#pragma once

#include "schedule/nest.h"

namespace tessera::schedule {

// The loops around the body. Where the body chooses an element of several tensors by what the outer
// loops alone know (concatenated channels), the choice is made outside of the innermost loop, which
// is then there once for each tensor: vectors would read all of them and blend.
tir::Stmt build_unswitched(const Nest& nest);

}  // namespace tessera::schedule
