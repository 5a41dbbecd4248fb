// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kAtan{
    .name = "atan",
    .doc =
        "y[i...] = atan(x[i...]), the arc tangent of x   x: T[d...] -> T[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::atan); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("atan", x); });
        },
    .onnx = {"Atan"},
    .samples = {"atan(float32[3,5])", "atan(float16[7])", "atan(float64[2,1,3])",
                "atan(float32[0,4])", "atan(float32[])"},
};

}  // namespace tessera::ops
