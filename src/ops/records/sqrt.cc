// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kSqrt{
    .name = "sqrt",
    .doc =
        "y[i...] = sqrt(x[i...]), the square root of x   x: T[d...] -> T[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::sqrt); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("sqrt", x); });
        },
    .onnx = {"Sqrt"},
    .samples = {"sqrt(float32[3,5]{0..9})", "sqrt(float16[7]{0..9})", "sqrt(float64[2,1,3]{0..9})",
                "sqrt(float32[0,4])", "sqrt(float32[]{0..9})"},
};

}  // namespace tessera::ops
