// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kMinimum{
    .name = "minimum",
    .doc =
        "y[i...] = min(lhs[i...], rhs[i...]); NaN if either is   lhs: T[a...], rhs: T[b...] -> "
        "T[broadcast(a, b)...]",
    .operands = {"lhs", "rhs"},
    .pattern = OpPattern::kBroadcast,
    .infer = infer_binary,
    .eval =
        [](const EvalArgs& a) {
          return eval_binary(a, each_domain([](auto x, auto y) { return min_or_nan(x, y); }));
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_binary(a, [](Expr x, Expr y) -> Expr { return tir::min(x, y); });
        },
    .samples = {"minimum(float32[9]{special}, float32[9]{special})",
                "minimum(float32[3,5], float32[3,5])", "minimum(float16[2,1,4], float16[3,1])",
                "minimum(int32[7], int32[])", "minimum(int64[2,3], int64[3])",
                "minimum(uint8[0,4], uint8[1,4])", "minimum(float32[5], float32[5])"},
};

}  // namespace tessera::ops
