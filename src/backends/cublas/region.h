// SPDX-License-Identifier: Apache-2.0
// A region's function as a product, and the payload that says it to the runtime's part.
#pragma once

#include <string>

#include "backends/cublas/describe.h"

namespace tessera::backends::cublas {

// The function is a call of one composite; what is described has the numbers of its tensors.
Expected<Description, relay::Refusal> describe_region(const relay::Function& region,
                                                      const ConstantPool& pool,
                                                      const Target& target);

std::string payload_of(const Spec& spec);

}  // namespace tessera::backends::cublas
