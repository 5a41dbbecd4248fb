// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"
#include "ops/records/reduce.h"

namespace tessera::ops {

constexpr Operator kMean{
    .name = "mean",
    .doc =
        "y[o...] = the mean of data[o..., r...] over the axes r; integers truncate   data: T[d...] "
        "-> T[d without axis]",
    .operands = {"data"},
    .attrs = relay::attr_schema<ReduceAttrs>,
    .pattern = OpPattern::kCommReduce,
    .infer = infer_reduce,
    .eval =
        [](const EvalArgs& a) {
          return eval_reduce(a, {0, wrapping_add}, {0, wrapping_add},
                             [](double total, double count) { return total / count; });
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_reduce(a, ReduceOp::kSum,
                                [](Expr total, Expr count) { return total / count; });
        },
    .samples = {"mean(float32[2,3,5], axis=[1])", "mean(float16[4,3], axis=[-1], keepdims=True)",
                "mean(int32[2,3])", "mean(float64[2,3,2], axis=[1], exclude=True)",
                "mean(float32[2,0], axis=[0])", "mean(float32[0,3], axis=[0])",
                "mean(float32[3,2], axis=[])"},
};

}  // namespace tessera::ops
