// SPDX-License-Identifier: Apache-2.0
// What `broadcast_to` and `dyn.broadcast_to` share: all but where the shape comes from.
#pragma once

#include "ops/records/definition.h"

namespace tessera::ops {

std::vector<Tensor> eval_broadcast_to(const relay::EvalArgs& args);
Definitions compute_broadcast_to(const relay::ComputeArgs& args);

}  // namespace tessera::ops
