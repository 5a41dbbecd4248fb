// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kTanh{
    .name = "tanh",
    .doc =
        "y[i...] = tanh(x[i...]), the hyperbolic tangent of x   x: T[d...] -> T[d...], T "
        "floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::tanh); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("tanh", x); });
        },
    .onnx = {"Tanh"},
    .samples = {"tanh(float32[3,5])", "tanh(float16[7])", "tanh(float64[2,1,3])",
                "tanh(float32[0,4])", "tanh(float32[])"},
};

}  // namespace tessera::ops
