// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tir/prim_func.h"
#include "tir/prover.h"

namespace tessera::tir {

// Data that are known before the run.
struct KnownData {
  std::function<const Tensor*(const ConstantValue&)> resolve;  // of the module's pool
  std::map<const BufferNode*, const Tensor*> buffers;          // of inputs
};

// The accesses of a kernel of which it is not proven that each index lies inside of its dimension,
// and the views that may be larger than what they show, a sentence each. The prover knows what is
// known of the formal dimensions; conditions around an access, and those that the kernel requires
// before it, are added to that. What is read from memory counts as any number of its type, but for
// constant data and for conditions on it. On a device nothing follows from what is required.
std::vector<std::string> unproven_accesses(const PrimFunc& kernel, Prover& prover,
                                           const KnownData& data);
// The same where nothing is known but that no dimension is negative.
std::vector<std::string> unproven_accesses(const PrimFunc& kernel);

}  // namespace tessera::tir
