// SPDX-License-Identifier: Apache-2.0
// The one way into an operator's `eval`.
#pragma once

#include <vector>

#include "relay/operator.h"

namespace tessera::ops {

// The results' tensors, tuples flattened; or why they cannot be computed: an index leads out of a
// tensor, or there is no room. `location` is the call's.
Result<std::vector<Tensor>> evaluate_call(const relay::Operator& op, const relay::EvalArgs& args,
                                          const Location& location = nullptr);

// What that takes, never less: element operations, and bytes of the results. Sizes are numbers.
struct EvaluationCost {
  double work = 0, bytes = 0;
};
EvaluationCost evaluation_cost(const relay::Operator& op, std::span<const Type> operands,
                               const relay::Attrs& attrs, const Type& result);

}  // namespace tessera::ops
