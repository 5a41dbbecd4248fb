// SPDX-License-Identifier: Apache-2.0
// The cuDNN of the machine that compiles: which graphs it has engines for, and their plans, made
// for a device that is described and need not be there.
#pragma once

#include "backends/cudnn/compiler/graph.h"
#include "backends/cudnn/runtime/api.h"
#include "types/target.h"

namespace tessera::backends::cudnn {

// Nothing if it can be used; else why not.
std::optional<relay::Refusal> library_missing();
const std::string& library_path();
std::size_t library_version();
std::string library_version_text();  // "9.19.0"

// For children that measure: to start CUDA in this process would keep them from it.
const Api& library_api();

// The plan of a configuration, or without one that which heuristics put first; for the target's
// device. Made in a process of its own; the answer is remembered.
Expected<StoredPlan, relay::Refusal> plan_of(const Region& region, const Target& target,
                                             const std::string& configuration = "");

}  // namespace tessera::backends::cudnn
