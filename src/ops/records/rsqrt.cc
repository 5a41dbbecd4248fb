// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kRsqrt{
    .name = "rsqrt",
    .doc = "y[i...] = 1 / sqrt(x[i...])   x: T[d...] -> T[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval =
        [](const EvalArgs& a) { return eval_unary(a, [](double x) { return 1 / std::sqrt(x); }); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr {
            return tir::cast(1 / tir::call("sqrt", {widened(x)}), x.dtype());
          });
        },
    .samples = {"rsqrt(float32[3,5]{0.5..4})", "rsqrt(float16[7]{0.5..4})",
                "rsqrt(float64[2,1,3]{0.5..4})", "rsqrt(float32[0,4])", "rsqrt(float32[]{0.5..4})"},
};

}  // namespace tessera::ops
