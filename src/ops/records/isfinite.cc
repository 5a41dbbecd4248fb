// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kIsfinite{
    .name = "isfinite",
    .doc =
        "y[i...] = is x[i...] neither infinite nor NaN?   x: T[d...] -> bool[d...], T "
        "floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = infer_predicate,
    .eval =
        [](const EvalArgs& a) {
          return eval_unary(a, [](double x) -> double { return std::isfinite(x) ? 1 : 0; });
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(
              a, [](Expr x) -> Expr { return tir::call("isfinite", {widened(x)}, kBool); });
        },
    .samples = {"isfinite(float32[3,5]{special})", "isfinite(float16[7]{special})",
                "isfinite(float64[2,1,3]{special})", "isfinite(float32[0,4])",
                "isfinite(float32[]{special})"},
};

}  // namespace tessera::ops
