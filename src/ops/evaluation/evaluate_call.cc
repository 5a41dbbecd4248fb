// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluation/evaluate_call.h"

#include <algorithm>
#include <new>
#include <stdexcept>

#include "ops/evaluation/elements.h"
#include "support/check.h"

namespace tessera::ops {

Result<std::vector<Tensor>> evaluate_call(const relay::Operator& op, const relay::EvalArgs& args,
                                          const Location& location) {
  TESSERA_CHECK(op.eval != nullptr, "`{}` has no reference evaluation", op.name);
  const auto refused = [&](Code code, std::string_view why) {
    return fail(error(code, location, "`{}` cannot be evaluated: {}", op.name, why));
  };
  try {
    return op.eval(args);
  } catch (const EvaluationFailure& failure) {
    return refused(failure.code(), failure.what());
  } catch (const std::bad_alloc&) {
    return refused(Code::kLimitExceeded, "there is no memory for it");
  } catch (const std::length_error&) {
    return refused(Code::kLimitExceeded, "there is no memory for it");
  }
}

EvaluationCost evaluation_cost(const relay::Operator& op, std::span<const Type> operands,
                               const relay::Attrs& attrs, const Type& result) {
  EvaluationCost cost;
  double elements = 0;
  for (const Type& operand : operands) {
    for (const Type& t : flatten(operand)) elements += element_count(t);
  }
  for (const Type& t : flatten(result)) {
    elements += element_count(t);
    cost.bytes += element_count(t) * t.dtype().size_bytes();
  }
  cost.work = std::max(elements, op.flops == nullptr ? 0 : op.flops({operands, attrs, result}));
  return cost;
}

}  // namespace tessera::ops
