// SPDX-License-Identifier: Apache-2.0
// For what sizes the back ends that tell their workspace at create are asked.
#pragma once

#include "plan/plan.h"

namespace tessera::plan {

// Of each extern that `main` calls and that has a workspace query: the largest values of its formal
// dimensions, the sizes of its signature that are no numbers in order of first appearance. An error
// where one has no bound.
Result<std::map<std::string, std::vector<std::int64_t>>> workspace_dims(const tir::PrimFunc& main,
                                                                        const Module& module);

}  // namespace tessera::plan
