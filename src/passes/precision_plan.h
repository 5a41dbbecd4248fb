// SPDX-License-Identifier: Apache-2.0
// Which calls of a float32 function are computed in a 16-bit type, by precision_rules.def.
//
// Products are; sums, exponentials and the like are not. What lies between goes along, first
// forward:
//   * a call with an operand that was computed in float32 is computed in float32, too; this ends
//     where a product reads the value, which is rounded for it in any case;
//   * else a call with an operand in 16 bits is in 16 bits;
// then backward: what follows from neither (embeddings, masks) is in 16 bits if all that reads it
// is.
// A call that reads a constant which the type cannot represent stays in float32.
#pragma once

#include <vector>

#include "constants/pool.h"
#include "diagnostics/diagnostic.h"
#include "relay/function.h"

namespace tessera::passes {

enum class Precision : std::uint8_t {
  kUntouched,  // it computes nothing in float32, or is no call of an operator, or not ours
  kFloat32,
  kLow,
  kEither,  // its result is no float: it takes its operands as they come
};

struct PrecisionPlan {
  std::vector<Precision> computed;   // by node
  std::vector<Diagnostic> warnings;  // constants that do not fit
};

struct PrecisionRequest {
  DType low = kFloat16;
  bool convert_io = false;  // the parameters and the result, too
};

// Needs types.
PrecisionPlan plan_precision(const relay::Function& f, const ConstantPool& pool,
                             const PrecisionRequest& request);

}  // namespace tessera::passes
