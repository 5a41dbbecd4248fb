// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kAcosh{
    .name = "acosh",
    .doc =
        "y[i...] = acosh(x[i...]), the inverse hyperbolic cosine of x   x: T[d...] -> T[d...], T "
        "floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::acosh); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("acosh", x); });
        },
    .onnx = {"Acosh"},
    .samples = {"acosh(float32[3,5]{1..4})", "acosh(float16[7]{1..4})",
                "acosh(float64[2,1,3]{1..4})", "acosh(float32[0,4])", "acosh(float32[]{1..4})"},
};

}  // namespace tessera::ops
