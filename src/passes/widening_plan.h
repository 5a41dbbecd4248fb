// SPDX-License-Identifier: Apache-2.0
// Which calls of a function on 16-bit values are computed in float32, by widening_rules.h.
//
// What computes does; what keeps does not. What moves elements goes along:
//   * where all that it reads was computed in float32, in float32;
//   * where a part was, in float32 if nothing wants the result in 16 bits (a cache that a step
//     extends stays as it is);
//   * where none was (parameters, tables), in 16 bits, and what reads it widens the result; but in
//     float32 if only such readers are there and the result is no smaller than what it reads.
#pragma once

#include <vector>

#include "constants/pool.h"
#include "passes/precision_converter.h"
#include "relay/function.h"

namespace tessera::passes {

// `narrow`: the types that become float32; `products`: those in which products of matrices stay.
// Needs types.
ConversionPlan plan_widening(const relay::Function& f, const ConstantPool& pool,
                             std::vector<DType> narrow, std::vector<DType> products = {});

}  // namespace tessera::passes
