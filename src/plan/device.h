// SPDX-License-Identifier: Apache-2.0
// Host programs of devices: what of them the CPU does.
#pragma once

#include "plan/plan.h"

namespace tessera::plan {

// Why a run on a device cannot be recorded and replayed: the host reads device data or provides
// memory between its calls. "": it can be.
std::string replay_obstacle(const tir::PrimFunc& main, const Module& module,
                            const MemoryPlan& plan);
// Does the kernel or back-end function compute on the cpu, whatever the module is compiled for? Of
// kernels those do that find sizes, or what sizes are made of.
bool computes_on_cpu(const Module& module, const std::string& symbol);
// Which tensors of a call of a kernel that computes on the cpu are the device's, inputs and then
// outputs: those are copied. What the kernel does not read is not.
std::vector<bool> copied_for_cpu(const tir::CallKernel& call, const tir::PrimFunc& kernel);

}  // namespace tessera::plan
