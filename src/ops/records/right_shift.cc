// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kRightShift{
    .name = "right_shift",
    .doc =
        "y[i...] = lhs[i...] >> rhs[i...]; 0 <= rhs < bits of T   lhs: T[a...], rhs: T[b...] -> "
        "T[broadcast(a, b)...], T integer",
    .operands = {"lhs", "rhs"},
    .pattern = OpPattern::kBroadcast,
    .infer = infer_binary_int,
    .eval =
        [](const EvalArgs& a) {
          return eval_binary(a,
                             {nullptr, [](std::int64_t x, std::int64_t y) { return x >> (y & 63); },
                              [](std::uint64_t x, std::uint64_t y) { return x >> (y & 63); }});
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_binary(a, [](Expr x, Expr y) -> Expr {
            return tir::call("shift_right", {x, y});
          });
        },
    .samples = {"right_shift(int32[3,5]{0..6}, int32[3,5]{0..6})",
                "right_shift(uint8[2,1,4]{0..6}, uint8[3,1]{0..6})",
                "right_shift(int64[7]{0..6}, int64[]{0..6})",
                "right_shift(uint64[2,3]{0..6}, uint64[3]{0..6})",
                "right_shift(int16[0,4]{0..6}, int16[1,4]{0..6})",
                "right_shift(int32[5]{0..6}, int32[5]{0..6})"},
};

}  // namespace tessera::ops
