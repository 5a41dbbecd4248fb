// SPDX-License-Identifier: Apache-2.0
// Makes the plain nests of lower/ fast: which rule goes where.
#pragma once

#include "module/module.h"
#include "schedule/algorithms.h"
#include "schedule/machine.h"
#include "schedule/made_constant.h"

namespace tessera::schedule {

// A kernel in the canonical form of lower/primitive.h. Its attribute "schedule" says what was done.
tir::PrimFunc schedule_kernel(tir::PrimFunc kernel, const Machine& machine);
// The same for one with inputs that every call gives a constant.
ScheduledKernel schedule_kernel(tir::PrimFunc kernel, const Machine& machine,
                                const std::vector<tir::Buffer>& constants);

// All kernels of the module, and the constants that they ask for; then host programs provide their
// scratch memory (lower::hoist_allocations).
// `measured` decides where work has several algorithms; null: rules do.
Module schedule(Module module, const Target& target, MeasuredAlgorithms* measured = nullptr);

}  // namespace tessera::schedule
