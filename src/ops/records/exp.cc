// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kExp{
    .name = "exp",
    .doc = "y[i...] = exp(x[i...]), e to the power of x   x: T[d...] -> T[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::exp); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("exp", x); });
        },
    .onnx = {"Exp"},
    .samples = {"exp(float32[3,5])", "exp(float16[7])", "exp(float64[2,1,3])", "exp(float32[0,4])",
                "exp(float32[])"},
};

}  // namespace tessera::ops
