// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kSin{
    .name = "sin",
    .doc = "y[i...] = sin(x[i...]), the sine of x   x: T[d...] -> T[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::sin); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("sin", x); });
        },
    .onnx = {"Sin"},
    .samples = {"sin(float32[3,5])", "sin(float16[7])", "sin(float64[2,1,3])", "sin(float32[0,4])",
                "sin(float32[])"},
};

}  // namespace tessera::ops
