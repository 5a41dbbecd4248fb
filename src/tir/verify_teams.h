// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tir/prim_func.h"

namespace tessera::tir {

// What is wrong with the barriers of a kernel for a device, a sentence each. Nothing says that
//   a barrier stands where all threads of a team come to it: at the level of the team, whose
//   conditions and limits are the same for all;
//   between two accesses of memory that threads of a team have in common, of which one is a store,
//   there is one on every way from the first to the second, also into a loop's next iteration;
//   within one loop over threads, each touches its own elements of shared memory;
//   shared memory belongs to blocks.
// Accesses are told apart by buffer alone. The kernel is one in which `verify` finds nothing else.
std::vector<std::string> verify_teams(const PrimFunc& f);

}  // namespace tessera::tir
