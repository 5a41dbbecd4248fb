// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kTan{
    .name = "tan",
    .doc = "y[i...] = tan(x[i...]), the tangent of x   x: T[d...] -> T[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::tan); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("tan", x); });
        },
    .onnx = {"Tan"},
    .samples = {"tan(float32[3,5]{-1..1})", "tan(float16[7]{-1..1})", "tan(float64[2,1,3]{-1..1})",
                "tan(float32[0,4])", "tan(float32[]{-1..1})"},
};

}  // namespace tessera::ops
