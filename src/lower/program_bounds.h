// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "module/module.h"

namespace tessera::lower {

// What of a module's host program and kernels is not proven to stay inside of its memory, for all
// sizes that the program's checks let pass; a sentence each. Proven of each call are
//   that the memory it is given, by views or not, is as large as the parameters of the kernel, with
//   its formal dimensions;
//   that each access of the kernel lies inside of its buffer, with these dimensions
//   (tir/verify_bounds.h).
// What a kernel requires of sizes counts for what is called after it. Functions of back ends are
// code of theirs: of them only the numbers in their signature are compared.
std::vector<std::string> unproven_accesses(const Module& module);

}  // namespace tessera::lower
