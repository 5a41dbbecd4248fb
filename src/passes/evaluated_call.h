// SPDX-License-Identifier: Apache-2.0
// Calls that passes make of constants, which they evaluate at once.
#pragma once

#include <span>

#include "constants/pool.h"
#include "relay/rewrite.h"

namespace tessera::passes {

// The one result of a call of constants, which must be possible.
Tensor evaluated(const relay::Operator& op, std::span<const Tensor> values,
                 const relay::Attrs& attrs);
// A call of an operator with one result, which must be possible; where all operands are constants,
// what it gives.
relay::NodeId evaluated_call(relay::Copier& c, const ConstantPool& pool, const relay::Operator& op,
                             std::span<const relay::NodeId> operands, relay::Attrs attrs);

}  // namespace tessera::passes
