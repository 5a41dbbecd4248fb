// SPDX-License-Identifier: Apache-2.0
// The cuDNN of the machine that compiles: which graphs it has engines for, and their plans, made
// for a device that is described and need not be there.
#pragma once

#include "backends/cudnn/compiler/graph.h"
#include "backends/cudnn/runtime/api.h"
#include "byoc/made_parts.h"
#include "types/target.h"

namespace tessera::backends::cudnn {

// Nothing if it can be used; else why not.
std::optional<relay::Refusal> library_missing();
const std::string& library_path();
std::size_t library_version();
std::string library_version_text();  // "9.19.0"

// For children that measure: to start CUDA in this process would keep them from it.
const Api& library_api();

// What records of this library say, and what is measured on the target's device: "1, cuDNN 9.19.0".
std::string record_version();
// What the description of a device that is measured for begins with; with -model all of it.
std::string device_text(const Target& target);

// The plan of a configuration, or without one that which heuristics put first; for the target's
// device. Made in a process of its own; the answer is remembered. A plan with code that cuDNN
// compiles differs from process to process, and needs the driver: that of the records comes first,
// and where these decide alone there are no others of the kind.
Expected<StoredPlan, relay::Refusal> plan_of(const Region& region, const Target& target,
                                             const std::string& configuration = "");

// From now on these records, for the target's device; null: none, and the library is asked.
Result<void> recall_plans(const Target& target, const byoc::MadeParts* made);
// Keeps the plans with such code that this process has, for the target's device.
Result<void> keep_plans(const Target& target, byoc::MadeParts& made);

}  // namespace tessera::backends::cudnn
