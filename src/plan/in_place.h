// SPDX-License-Identifier: Apache-2.0
// Results in the memory of operands: where a kernel has read an element of an operand that nothing
// reads afterwards, its result may take the element's place.
#pragma once

#include <utility>
#include <vector>

#include "module/module.h"
#include "plan/liveness.h"

namespace tessera::plan {

// Does the kernel read `input` nowhere but for the element of `output` that it stores then, at the
// same place, and store each element once?
bool computes_in_place(const tir::PrimFunc& kernel, const tir::Buffer& input,
                       const tir::Buffer& output);

// Marks the kernels that calls of host programs may let compute in place. Their emitted code does
// not claim that the operand and the result are apart.
Module mark_in_place(Module module);
// The operand and the result of a marked kernel; indices of its inputs and outputs.
std::vector<std::pair<std::size_t, std::size_t>> in_place_of(const tir::PrimFunc& kernel);

// Makes one need of an operand and a result where a call of a marked kernel ends the one and begins
// the other.
void share_in_place(const tir::PrimFunc& main, const Module& module, Liveness& liveness);

}  // namespace tessera::plan
