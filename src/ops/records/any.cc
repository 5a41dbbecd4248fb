// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/reduce.h"

namespace tessera::ops {

constexpr Operator kAny{
    .name = "any",
    .doc = "y[o...] = is one of data[o..., r...] true?   data: T[d...] -> T[d without axis]",
    .operands = {"data"},
    .attrs = relay::attr_schema<ReduceAttrs>,
    .pattern = OpPattern::kCommReduce,
    .infer = infer_bool_reduce,
    .eval =
        [](const EvalArgs& a) {
          return eval_reduce(a, {0, nullptr},
                             {0, [](std::int64_t x, std::int64_t y) { return x | y; }});
        },
    .compute = [](const ComputeArgs& a) { return compute_reduce(a, ReduceOp::kAny); },
    .samples = {"any(bool[2,3,5], axis=[1])", "any(bool[4,3], axis=[-1], keepdims=True)",
                "any(bool[2,3])", "any(bool[2,3,2], axis=[1], exclude=True)",
                "any(bool[2,0], axis=[0])", "any(bool[0,3], axis=[0])", "any(bool[3,2], axis=[])"},
};

}  // namespace tessera::ops
