// SPDX-License-Identifier: Apache-2.0
// What `full` and `dyn.full` share: all but where the shape comes from.
#pragma once

#include "ops/records/definition.h"

namespace tessera::ops {

std::vector<Tensor> eval_full(const relay::EvalArgs& args);
Definitions compute_full(const relay::ComputeArgs& args);

}  // namespace tessera::ops
