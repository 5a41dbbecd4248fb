// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/elementwise.h"
#include "ops/record.h"
#include "ops/to_integer.h"

namespace tessera::ops {
namespace {

Expr power(const Expr& x, const Expr& y) {
  if (x.dtype().is_float()) return float_call("pow", x, y);
  return tir::cast(tir::call("pow", {tir::cast(x, kFloat64), tir::cast(y, kFloat64)}), x.dtype());
}

}  // namespace

constexpr Operator kPower{
    .name = "power",
    .doc =
        "y[i...] = lhs[i...] to the power of rhs[i...]   lhs: T[a...], rhs: T[b...] -> "
        "T[broadcast(a, b)...]",
    .operands = {"lhs", "rhs"},
    .pattern = OpPattern::kBroadcast,
    .infer = infer_binary,
    .eval =
        [](const EvalArgs& a) {
          return eval_binary(
              a, {[](double x, double y) { return std::pow(x, y); },
                  [](std::int64_t x, std::int64_t y) {
                    return to_integer(std::pow(static_cast<double>(x), static_cast<double>(y)));
                  }});
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_binary(a, [](Expr x, Expr y) -> Expr { return power(x, y); });
        },
    .samples = {"power(float32[3,5]{0..4}, float32[3,5]{0..4})",
                "power(float16[2,1,4]{0..4}, float16[3,1]{0..4})",
                "power(int32[7]{0..4}, int32[]{0..4})", "power(int64[2,3]{0..4}, int64[3]{0..4})",
                "power(float64[0,4]{0..4}, float64[1,4]{0..4})",
                "power(float32[5]{0..4}, float32[5]{0..4})"},
};

}  // namespace tessera::ops
