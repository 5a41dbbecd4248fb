// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"
#include "ops/records/reduce.h"

namespace tessera::ops {

constexpr Operator kProd{
    .name = "prod",
    .doc =
        "y[o...] = the product of data[o..., r...] over the axes r   data: T[d...] -> T[d without "
        "axis]",
    .operands = {"data"},
    .attrs = relay::attr_schema<ReduceAttrs>,
    .pattern = OpPattern::kCommReduce,
    .infer = infer_reduce,
    .eval =
        [](const EvalArgs& a) {
          return eval_reduce(a, {1, wrapping_multiply}, {1, wrapping_multiply});
        },
    .compute = [](const ComputeArgs& a) { return compute_reduce(a, ReduceOp::kProd); },
    .samples = {"prod(float32[2,3,5], axis=[1])", "prod(float16[4,3], axis=[-1], keepdims=True)",
                "prod(int32[2,3])", "prod(float64[2,3,2], axis=[1], exclude=True)",
                "prod(float32[2,0], axis=[0])", "prod(float32[0,3], axis=[0])",
                "prod(float32[3,2], axis=[])"},
};

}  // namespace tessera::ops
