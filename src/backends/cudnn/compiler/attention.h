// SPDX-License-Identifier: Apache-2.0
// Attention as the operations that cuDNN's flash engines recognise.
#pragma once

#include "backends/cudnn/compiler/region.h"
#include "types/target.h"

namespace tessera::backends::cudnn {

// Of float16, bfloat16 and, by tf32, float32, with a mask that is added, a causal one, or none. All
// sizes must be known.
Expected<Region, relay::Refusal> describe_attention(const relay::Match& match,
                                                    const Target& target);

}  // namespace tessera::backends::cudnn
