// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kLess{
    .name = "less",
    .doc =
        "y[i...] = lhs[i...] < rhs[i...]   lhs: T[a...], rhs: T[b...] -> bool[broadcast(a, b)...]",
    .operands = {"lhs", "rhs"},
    .pattern = OpPattern::kBroadcast,
    .infer = infer_comparison,
    .eval =
        [](const EvalArgs& a) {
          return eval_binary(a, each_domain([](auto x, auto y) { return x < y ? 1 : 0; }));
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_binary(a, [](Expr x, Expr y) -> Expr { return tir::lt(x, y); });
        },
    .onnx = {"Less"},
    .samples = {"less(int32[3,5], int32[3,5])", "less(float32[2,1,4], float32[3,1])",
                "less(int64[7], int64[])", "less(float16[2,3], float16[3])",
                "less(uint8[0,4], uint8[1,4])", "less(bool[5], bool[5])"},
};

}  // namespace tessera::ops
