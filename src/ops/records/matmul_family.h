// SPDX-License-Identifier: Apache-2.0
// Matrix products with numpy batching: y[b..., m, n] = sum over k of a[b..., m, k] * w[b..., k, n].
// The last two dimensions of either operand may be stored transposed.
#pragma once

#include "ops/attrs/matmul.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {

struct MatmulForm {
  bool transpose_a = false, transpose_b = false;
  std::optional<DType> out_dtype;
  std::optional<std::int64_t> units;  // n, where the call says it
};

// The operands may differ in data type; the result has out_dtype, or else that of the first.
Result<Type> infer_matmul(const InferArgs& args, const MatmulForm& form);
std::vector<Tensor> eval_matmul(const EvalArgs& args, const MatmulForm& form);
Definitions compute_matmul(const ComputeArgs& args, const MatmulForm& form);
double matmul_flops(const CostArgs& args, const MatmulForm& form);

}  // namespace tessera::ops
