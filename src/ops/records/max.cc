// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/reduce.h"

namespace tessera::ops {

constexpr Operator kMax{
    .name = "max",
    .doc =
        "y[o...] = the greatest of data[o..., r...] over the axes r; NaN if one is   data: T[d...] "
        "-> T[d without axis]",
    .operands = {"data"},
    .attrs = relay::attr_schema<ReduceAttrs>,
    .pattern = OpPattern::kCommReduce,
    .infer = infer_reduce,
    .eval =
        [](const EvalArgs& a) {
          return eval_reduce(a, {-HUGE_VAL, max_or_nan<double>},
                             {least_int(a.result.dtype()), max_or_nan<std::int64_t>});
        },
    .compute = [](const ComputeArgs& a) { return compute_reduce(a, ReduceOp::kMax); },
    .samples = {"max(float32[3,3]{special}, axis=[1])", "max(float32[2,3,5], axis=[1])",
                "max(float16[4,3], axis=[-1], keepdims=True)", "max(int32[2,3])",
                "max(float64[2,3,2], axis=[1], exclude=True)", "max(float32[2,0], axis=[0])",
                "max(float32[3,2], axis=[])", "max(int8[0,4])"},
};

}  // namespace tessera::ops
