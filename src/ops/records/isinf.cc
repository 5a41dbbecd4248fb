// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kIsinf{
    .name = "isinf",
    .doc = "y[i...] = is x[i...] infinite?   x: T[d...] -> bool[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = infer_predicate,
    .eval =
        [](const EvalArgs& a) {
          return eval_unary(a, [](double x) -> double { return std::isinf(x) ? 1 : 0; });
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(
              a, [](Expr x) -> Expr { return tir::call("isinf", {widened(x)}, kBool); });
        },
    .samples = {"isinf(float32[3,5]{special})", "isinf(float16[7]{special})",
                "isinf(float64[2,1,3]{special})", "isinf(float32[0,4])",
                "isinf(float32[]{special})"},
};

}  // namespace tessera::ops
