// SPDX-License-Identifier: Apache-2.0
// Host programs of devices: what of them the CPU does.
#pragma once

#include "plan/plan.h"

namespace tessera::plan {

// Why a run on a device cannot be recorded and replayed: the host reads device data or provides
// memory between its calls. "": it can be.
std::string replay_obstacle(const tir::PrimFunc& main, const Module& module,
                            const MemoryPlan& plan);
// Does the back-end function compute on the cpu, whatever the module is compiled for?
bool computes_on_cpu(const Extern& e);

}  // namespace tessera::plan
