// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/elementwise.h"

namespace tessera::ops {

constexpr Operator kMod{
    .name = "mod",
    .doc =
        "y[i...] = lhs[i...] - trunc(lhs[i...] / rhs[i...]) * rhs[i...], the sign of lhs   lhs: "
        "T[a...], rhs: T[b...] -> T[broadcast(a, b)...]",
    .operands = {"lhs", "rhs"},
    .pattern = OpPattern::kBroadcast,
    .infer = infer_binary,
    .eval =
        [](const EvalArgs& a) {
          return eval_binary(a,
                             {[](double x, double y) { return std::fmod(x, y); },
                              [](std::int64_t x, std::int64_t y) { return y == 0 ? 0 : x % y; },
                              [](std::uint64_t x, std::uint64_t y) { return y == 0 ? 0 : x % y; }});
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_binary(a, [](Expr x, Expr y) -> Expr {
            return x.dtype().is_float() ? float_call("fmod", x, y) : x - x / y * y;
          });
        },
    .samples = {"mod(float32[3,5], float32[3,5]{1..5})", "mod(float16[2,1,4], float16[3,1]{1..5})",
                "mod(int32[7], int32[]{1..5})", "mod(int64[2,3], int64[3]{1..5})",
                "mod(uint8[0,4], uint8[1,4]{1..5})", "mod(float32[5], float32[5]{1..5})"},
};

}  // namespace tessera::ops
