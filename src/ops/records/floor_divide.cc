// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kFloorDivide{
    .name = "floor_divide",
    .doc =
        "y[i...] = floor(lhs[i...] / rhs[i...]); of integers x / 0 = 0, and the smallest / -1 is "
        "itself   lhs: T[a...], rhs: T[b...] -> T[broadcast(a, "
        "b)...]",
    .operands = {"lhs", "rhs"},
    .pattern = OpPattern::kBroadcast,
    .infer = infer_binary,
    .eval =
        [](const EvalArgs& a) {
          return eval_binary(a,
                             {[](double x, double y) { return std::floor(x / y); },
                              [](std::int64_t x, std::int64_t y) { return tir::floor_div(x, y); },
                              [](std::uint64_t x, std::uint64_t y) { return y == 0 ? 0 : x / y; }});
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_binary(a, [](Expr x, Expr y) -> Expr {
            return x.dtype().is_float() ? float_call("floor", x / y) : tir::floor_div(x, y);
          });
        },
    .samples = {"floor_divide(float32[3,5], float32[3,5]{1..5})",
                "floor_divide(int32[2,1,4], int32[3,1]{1..5})",
                "floor_divide(float64[7], float64[]{1..5})",
                "floor_divide(int64[2,3], int64[3]{1..5})",
                "floor_divide(uint8[0,4], uint8[1,4]{1..5})",
                "floor_divide(float32[5], float32[5]{1..5})",
                "floor_divide(int32[9,3], int32[9,3]{-3..3})",
                "floor_divide(uint8[9,3], uint8[3]{0..2})",
                "floor_divide(int64[1]=-9223372036854775808, int64[2]=[-1,0])"},
};

}  // namespace tessera::ops
