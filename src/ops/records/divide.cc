// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kDivide{
    .name = "divide",
    .doc =
        "y[i...] = lhs[i...] / rhs[i...]; integers truncate, x / 0 = 0, and the smallest integer / "
        "-1 is itself   lhs: T[a...], rhs: T[b...] -> "
        "T[broadcast(a, b)...]",
    .operands = {"lhs", "rhs"},
    .pattern = OpPattern::kBroadcast,
    .infer = infer_binary,
    .eval =
        [](const EvalArgs& a) {
          return eval_binary(a,
                             {[](double x, double y) { return x / y; },
                              [](std::int64_t x, std::int64_t y) { return tir::trunc_div(x, y); },
                              [](std::uint64_t x, std::uint64_t y) { return y == 0 ? 0 : x / y; }});
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_binary(a, [](Expr x, Expr y) -> Expr { return x / y; });
        },
    .onnx = {"Div"},
    .samples = {"divide(float32[3,5], float32[3,5]{1..5})",
                "divide(float16[2,1,4], float16[3,1]{1..5})", "divide(int32[7], int32[]{1..5})",
                "divide(int64[2,3], int64[3]{1..5})", "divide(uint8[0,4], uint8[1,4]{1..5})",
                "divide(float32[5], float32[5]{1..5})", "divide(int32[9,3], int32[9,3]{-1..1})",
                "divide(int64[9,3], int64[3]{-1..1})", "divide(int8[1]=-128, int8[2]=[-1,0])",
                "divide(int32[1]=-2147483648, int32[2]=[-1,0])",
                "divide(int64[1]=-9223372036854775808, int64[2]=[-1,0])"},
};

}  // namespace tessera::ops
