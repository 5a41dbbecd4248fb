// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kIsnan{
    .name = "isnan",
    .doc = "y[i...] = is x[i...] not a number?   x: T[d...] -> bool[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = infer_predicate,
    .eval =
        [](const EvalArgs& a) {
          return eval_unary(a, [](double x) -> double { return std::isnan(x) ? 1 : 0; });
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(
              a, [](Expr x) -> Expr { return tir::call("isnan", {widened(x)}, kBool); });
        },
    .onnx = {"IsNaN"},
    .samples = {"isnan(float32[3,5]{special})", "isnan(float16[7]{special})",
                "isnan(float64[2,1,3]{special})", "isnan(float32[0,4])",
                "isnan(float32[]{special})"},
};

}  // namespace tessera::ops
