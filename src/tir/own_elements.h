// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tir/barrier.h"

namespace tessera::tir {

// Buffers of shared memory that the loop stores to and of which two iterations may touch the same
// element, by name: those for which it cannot be proved that all accesses are at one place, which
// differs between iterations.
std::vector<std::string> shared_between_iterations(const For& loop, const TeamMemory& memory);

// Is the element at the indices, which is of the loop's body, another one in each iteration of the
// loop, whatever the loops inside do? False where that is not proved.
bool differs_between_iterations(const For& loop, const Buffer& buffer,
                                const std::vector<Expr>& indices);

}  // namespace tessera::tir
