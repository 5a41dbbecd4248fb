// SPDX-License-Identifier: Apache-2.0
// What there is to measure, and what was measured before.
#pragma once

#include <string>
#include <vector>

#include "backends/cudnn/compiler/graph.h"
#include "byoc/tuning_task.h"
#include "module/module.h"

namespace tessera::backends::cudnn {

// The distinct regions among the functions of the module that this back end took.
std::vector<byoc::TuningTask> tuning_tasks(const Module& module, const Target& target);

// The plan of the fastest configuration on record, or without one the heuristics' first. Fails for
// what is wrong with the records; a refusal where all on record failed.
Result<Expected<StoredPlan, relay::Refusal>> choose(const Region& region, const Target& target,
                                                    const byoc::CompileContext& context);

}  // namespace tessera::backends::cudnn
