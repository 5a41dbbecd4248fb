// SPDX-License-Identifier: Apache-2.0
#include "ops/records/reduce.h"

namespace tessera::ops {

constexpr Operator kArgmin{
    .name = "argmin",
    .doc =
        "The row-major place, among the axes, of the least of data[o..., r...]: the first, or the "
        "last if select_last_index; -1 of nothing   data: T[d...] -> dtype[d without axis]",
    .operands = {"data"},
    .attrs = relay::attr_schema<ArgReduceAttrs>,
    .pattern = OpPattern::kCommReduce,
    .infer = infer_arg_reduce,
    .eval = [](const EvalArgs& a) { return eval_arg_reduce(a, false); },
    .compute = [](const ComputeArgs& a) { return compute_arg_reduce(a, false); },
    .samples = {"argmin(float32[2,3,5], axis=[1])", "argmin(int32[4,30], axis=[-1], keepdims=True)",
                "argmin(int32[4,30], axis=[1], select_last_index=True)", "argmin(float16[3,4])",
                "argmin(float32[2,9]{special}, axis=[1], dtype=\"int64\")",
                "argmin(float32[2,0], axis=[1], dtype=\"int64\")"},
};

}  // namespace tessera::ops
