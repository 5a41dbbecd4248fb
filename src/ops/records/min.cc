// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/reduce.h"

namespace tessera::ops {

constexpr Operator kMin{
    .name = "min",
    .doc =
        "y[o...] = the least of data[o..., r...] over the axes r; NaN if one is   data: T[d...] -> "
        "T[d without axis]",
    .operands = {"data"},
    .attrs = relay::attr_schema<ReduceAttrs>,
    .pattern = OpPattern::kCommReduce,
    .infer = infer_reduce,
    .eval =
        [](const EvalArgs& a) {
          return eval_reduce(a, {HUGE_VAL, min_or_nan<double>},
                             {greatest_int(a.result.dtype()), min_or_nan<std::int64_t>});
        },
    .compute = [](const ComputeArgs& a) { return compute_reduce(a, ReduceOp::kMin); },
    .samples = {"min(float32[3,3]{special}, axis=[1])", "min(float32[2,3,5], axis=[1])",
                "min(float16[4,3], axis=[-1], keepdims=True)", "min(int32[2,3])",
                "min(float64[2,3,2], axis=[1], exclude=True)", "min(float32[2,0], axis=[0])",
                "min(float32[3,2], axis=[])", "min(int32[0,4])"},
};

}  // namespace tessera::ops
