// SPDX-License-Identifier: Apache-2.0
// Layer norms and RMS norms over the last dimension as cuDNN's operation.
#pragma once

#include "backends/cudnn/compiler/region.h"
#include "types/target.h"

namespace tessera::backends::cudnn {

// `nn.layer_norm` with scale and bias, and `nn.rms_norm` with a scale. All sizes must be known.
Expected<Region, relay::Refusal> describe_norm(const relay::Match& match, const Target& target);

}  // namespace tessera::backends::cudnn
