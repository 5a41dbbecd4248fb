// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kCos{
    .name = "cos",
    .doc = "y[i...] = cos(x[i...]), the cosine of x   x: T[d...] -> T[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::cos); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("cos", x); });
        },
    .onnx = {"Cos"},
    .samples = {"cos(float32[3,5])", "cos(float16[7])", "cos(float64[2,1,3])", "cos(float32[0,4])",
                "cos(float32[])"},
};

}  // namespace tessera::ops
