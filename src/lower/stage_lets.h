// SPDX-License-Identifier: Apache-2.0
// The scalars of a stage: which of them stay, and how long the stage is once the others are written
// where they are read.
#pragma once

#include "lower/stages.h"

namespace tessera::lower {

// Nodes of an expression as it is written: what is shared counts each time.
double written_size(const tir::Expr& e);
// Nodes of the stage after keep_shared_lets, without its axes.
double written_size(const Stage& stage);

// Lets that are read once, or only where a Select chooses them (they may read out of bounds
// elsewhere), go back into their reader.
void keep_shared_lets(Stage& stage);

}  // namespace tessera::lower
