// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/reduce.h"

namespace tessera::ops {

constexpr Operator kAll{
    .name = "all",
    .doc = "y[o...] = are all of data[o..., r...] true?   data: T[d...] -> T[d without axis]",
    .operands = {"data"},
    .attrs = relay::attr_schema<ReduceAttrs>,
    .pattern = OpPattern::kCommReduce,
    .infer = infer_bool_reduce,
    .eval =
        [](const EvalArgs& a) {
          return eval_reduce(a, {0, nullptr},
                             {1, [](std::int64_t x, std::int64_t y) { return x & y; }});
        },
    .compute = [](const ComputeArgs& a) { return compute_reduce(a, ReduceOp::kAll); },
    .samples = {"all(bool[2,3,5], axis=[1])", "all(bool[4,3], axis=[-1], keepdims=True)",
                "all(bool[2,3])", "all(bool[2,3,2], axis=[1], exclude=True)",
                "all(bool[2,0], axis=[0])", "all(bool[0,3], axis=[0])", "all(bool[3,2], axis=[])"},
};

}  // namespace tessera::ops
