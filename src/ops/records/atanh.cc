// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kAtanh{
    .name = "atanh",
    .doc =
        "y[i...] = atanh(x[i...]), the inverse hyperbolic tangent of x   x: T[d...] -> T[d...], T "
        "floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::atanh); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("atanh", x); });
        },
    .onnx = {"Atanh"},
    .samples = {"atanh(float32[3,5]{-0.9..0.9})", "atanh(float16[7]{-0.9..0.9})",
                "atanh(float64[2,1,3]{-0.9..0.9})", "atanh(float32[0,4])",
                "atanh(float32[]{-0.9..0.9})"},
};

}  // namespace tessera::ops
