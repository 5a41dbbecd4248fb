// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

Expr power(const Expr& x, const Expr& y) {
  if (x.dtype().is_float()) return float_call("pow", x, y);
  return tir::call("int_pow", {x, y});
}

}  // namespace

constexpr Operator kPower{
    .name = "power",
    .doc =
        "y[i...] = lhs[i...] to the power of rhs[i...]; of integers exact, wrapped to T, and for a "
        "negative rhs 1 / lhs^-rhs towards zero, 0 of 0   lhs: T[a...], rhs: T[b...] -> "
        "T[broadcast(a, b)...]",
    .operands = {"lhs", "rhs"},
    .pattern = OpPattern::kBroadcast,
    .infer = infer_binary,
    .eval =
        [](const EvalArgs& a) {
          return eval_binary(a,
                             {[](double x, double y) { return std::pow(x, y); },
                              [](std::int64_t x, std::int64_t y) { return tir::int_pow(x, y); },
                              [](std::uint64_t x, std::uint64_t y) { return tir::int_pow(x, y); }});
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_binary(a, [](Expr x, Expr y) -> Expr { return power(x, y); });
        },
    .samples = {"power(float32[3,5]{0..4}, float32[3,5]{0..4})",
                "power(float16[2,1,4]{0..4}, float16[3,1]{0..4})",
                "power(int32[7]{0..4}, int32[]{0..4})", "power(int64[2,3]{0..4}, int64[3]{0..4})",
                "power(float64[0,4]{0..4}, float64[1,4]{0..4})",
                "power(float32[5]{0..4}, float32[5]{0..4})",
                "power(int8[9,7]{-4..4}, int8[7]{-3..3})",
                "power(uint8[4,5]{0..255}, uint8[4,5]{0..255})",
                "power(int64[6,1]=[-9223372036854775808,-3,-1,0,1,9007199254740993], "
                "int64[7]=[-9223372036854775808,-3,-2,0,1,3,9223372036854775807])",
                "power(uint64[2,1]=[3,-1], uint64[3]=[2,40,-1])"},
};

}  // namespace tessera::ops
