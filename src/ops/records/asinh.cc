// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kAsinh{
    .name = "asinh",
    .doc =
        "y[i...] = asinh(x[i...]), the inverse hyperbolic sine of x   x: T[d...] -> T[d...], T "
        "floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::asinh); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("asinh", x); });
        },
    .onnx = {"Asinh"},
    .samples = {"asinh(float32[3,5])", "asinh(float16[7])", "asinh(float64[2,1,3])",
                "asinh(float32[0,4])", "asinh(float32[])"},
};

}  // namespace tessera::ops
