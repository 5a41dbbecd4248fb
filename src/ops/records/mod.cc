// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kMod{
    .name = "mod",
    .doc =
        "y[i...] = lhs[i...] - trunc(lhs[i...] / rhs[i...]) * rhs[i...], the sign of lhs; of "
        "integers x mod 0 = 0   lhs: "
        "T[a...], rhs: T[b...] -> T[broadcast(a, b)...]",
    .operands = {"lhs", "rhs"},
    .pattern = OpPattern::kBroadcast,
    .infer = infer_binary,
    .eval =
        [](const EvalArgs& a) {
          return eval_binary(a,
                             {[](double x, double y) { return std::fmod(x, y); },
                              [](std::int64_t x, std::int64_t y) { return tir::trunc_mod(x, y); },
                              [](std::uint64_t x, std::uint64_t y) { return y == 0 ? 0 : x % y; }});
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_binary(a, [](Expr x, Expr y) -> Expr {
            if (x.dtype().is_float()) return float_call("fmod", x, y);
            const Expr rest = tir::floor_mod(x, y);
            if (x.dtype().is_unsigned_int()) return rest;
            const Expr zero = tir::int_imm(0, x.dtype());
            const Expr differs = tir::ne(tir::lt(x, zero), tir::lt(y, zero));
            return tir::select(tir::logical_and(tir::ne(rest, zero), differs), rest - y, rest);
          });
        },
    .samples = {"mod(float32[3,5], float32[3,5]{1..5})", "mod(float16[2,1,4], float16[3,1]{1..5})",
                "mod(int32[7], int32[]{1..5})", "mod(int64[2,3], int64[3]{1..5})",
                "mod(uint8[0,4], uint8[1,4]{1..5})", "mod(float32[5], float32[5]{1..5})",
                "mod(int32[9,3], int32[9,3]{-3..3})", "mod(uint8[9,3], uint8[3]{0..2})",
                "mod(int64[1]=-9223372036854775808, int64[2]=[-1,0])"},
};

}  // namespace tessera::ops
