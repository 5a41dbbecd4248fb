// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kFloorMod{
    .name = "floor_mod",
    .doc =
        "y[i...] = lhs[i...] - floor(lhs[i...] / rhs[i...]) * rhs[i...], the sign of rhs; of "
        "integers x mod 0 = 0   lhs: "
        "T[a...], rhs: T[b...] -> T[broadcast(a, b)...]",
    .operands = {"lhs", "rhs"},
    .pattern = OpPattern::kBroadcast,
    .infer = infer_binary,
    .eval =
        [](const EvalArgs& a) {
          return eval_binary(a,
                             {[](double x, double y) { return x - std::floor(x / y) * y; },
                              [](std::int64_t x, std::int64_t y) { return tir::floor_mod(x, y); },
                              [](std::uint64_t x, std::uint64_t y) { return y == 0 ? 0 : x % y; }});
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_binary(a, [](Expr x, Expr y) -> Expr {
            return x.dtype().is_float() ? x - float_call("floor", x / y) * y : tir::floor_mod(x, y);
          });
        },
    .samples = {"floor_mod(float32[3,5], float32[3,5]{1..5})",
                "floor_mod(int32[2,1,4], int32[3,1]{1..5})",
                "floor_mod(float64[7], float64[]{1..5})", "floor_mod(int64[2,3], int64[3]{1..5})",
                "floor_mod(uint8[0,4], uint8[1,4]{1..5})",
                "floor_mod(float32[5], float32[5]{1..5})",
                "floor_mod(int32[9,3], int32[9,3]{-3..3})", "floor_mod(uint8[9,3], uint8[3]{0..2})",
                "floor_mod(int64[1]=-9223372036854775808, int64[2]=[-1,0])"},
};

}  // namespace tessera::ops
