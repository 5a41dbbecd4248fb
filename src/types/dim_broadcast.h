// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "types/dim.h"

namespace tessera {

// Where numpy broadcasts a dimension of `size` elements against one of `larger`: is the result's
// size `larger` in every run in which they fit? So it is with `min(512, seq)` against `seq`. False
// where that is not known, and of `?`.
bool broadcasts_to(const Dim& size, const Dim& larger);

}  // namespace tessera
