// SPDX-License-Identifier: Apache-2.0
// Borders around images, as windows see them, without copies of the images.
#pragma once

#include <vector>

#include "schedule/nest.h"

namespace tessera::schedule {

// `nests`, in which readers of a temporary that is another buffer with a border,
// `padded[i, j] = x[i - 1, j - 1] if ... else 0`, read that buffer under the condition themselves.
// Temporaries with readers elsewhere among `all` nests of the kernel stay.
std::vector<tir::Stmt> read_through_borders(const std::vector<tir::Stmt>& nests,
                                            const std::vector<tir::Stmt>& all,
                                            const std::vector<tir::Buffer>& temporaries);

}  // namespace tessera::schedule
