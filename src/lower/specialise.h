// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "constants/pool.h"
#include "relay/function.h"

namespace tessera::lower {

// A region as a function whose parameters have these types: inference tells what follows from sizes
// that the caller knows better than the callee's annotations say.
Result<relay::Function> specialise(const relay::Function& f, relay::RegionId region,
                                   const std::vector<Type>& params, const ConstantPool& pool);

}  // namespace tessera::lower
