// SPDX-License-Identifier: Apache-2.0
#include "ops/records/reduce.h"

namespace tessera::ops {

constexpr Operator kArgmax{
    .name = "argmax",
    .doc =
        "The row-major place, among the axes, of the greatest of data[o..., r...]: the first, or "
        "the last if select_last_index; -1 of nothing   data: T[d...] -> dtype[d without axis]",
    .operands = {"data"},
    .attrs = relay::attr_schema<ArgReduceAttrs>,
    .pattern = OpPattern::kCommReduce,
    .infer = infer_arg_reduce,
    .eval = [](const EvalArgs& a) { return eval_arg_reduce(a, true); },
    .compute = [](const ComputeArgs& a) { return compute_arg_reduce(a, true); },
    .samples = {"argmax(float32[2,3,5], axis=[1])", "argmax(int32[4,30], axis=[-1], keepdims=True)",
                "argmax(int32[4,30], axis=[1], select_last_index=True)", "argmax(float16[3,4])",
                "argmax(float32[2,9]{special}, axis=[1], dtype=\"int64\")",
                "argmax(int32[0,3], axis=[0], select_last_index=True)"},
};

}  // namespace tessera::ops
