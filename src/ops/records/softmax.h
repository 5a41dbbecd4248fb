// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm: rows along one axis.
#pragma once

#include "ops/attrs/norm.h"
#include "ops/records/reduce.h"

namespace tessera::ops {

Result<Type> infer_softmax(const InferArgs& args);
// finish(x - greatest, sum of exp(x - greatest))
std::vector<Tensor> eval_softmax(const EvalArgs& args, double (*finish)(double, double));

// The stages of a row: its greatest element, exp(x - greatest), their sum.
struct SoftmaxStages {
  TensorExpr greatest, exponential, total;
  std::int64_t axis = 0;
  Indices row_of(Indices i) const;  // the index into greatest and total
};
SoftmaxStages softmax_stages(const ComputeArgs& args);

}  // namespace tessera::ops
