// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"
#include "ops/records/reduce.h"

namespace tessera::ops {

constexpr Operator kSum{
    .name = "sum",
    .doc =
        "y[o...] = the sum of data[o..., r...] over the axes r   data: T[d...] -> T[d without "
        "axis]",
    .operands = {"data"},
    .attrs = relay::attr_schema<ReduceAttrs>,
    .pattern = OpPattern::kCommReduce,
    .infer = infer_reduce,
    .eval =
        [](const EvalArgs& a) {
          return eval_reduce(a, {0, wrapping_add}, {0, wrapping_add});
        },
    .compute = [](const ComputeArgs& a) { return compute_reduce(a, ReduceOp::kSum); },
    .samples = {"sum(float32[2,3,5], axis=[1])", "sum(float16[4,3], axis=[-1], keepdims=True)",
                "sum(int32[2,3])", "sum(float64[2,3,2], axis=[1], exclude=True)",
                "sum(float32[2,0], axis=[0])", "sum(float32[0,3], axis=[0])",
                "sum(float32[3,2], axis=[])"},
};

}  // namespace tessera::ops
