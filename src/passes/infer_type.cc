// SPDX-License-Identifier: Apache-2.0
#include "ops/inference/infer_types.h"
#include "passes/pass.h"

namespace tessera::passes {

extern const Pass infer_type;
const Pass infer_type{
    .name = "infer-type",
    .summary = "fills in the types of parameters, results and all nodes, of every function",
    .needs_types = false,
    .run = [](Module module, PassContext&) { return ops::infer_types(std::move(module)); },
};

}  // namespace tessera::passes
