// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kCosh{
    .name = "cosh",
    .doc =
        "y[i...] = cosh(x[i...]), the hyperbolic cosine of x   x: T[d...] -> T[d...], T "
        "floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::cosh); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("cosh", x); });
        },
    .onnx = {"Cosh"},
    .samples = {"cosh(float32[3,5])", "cosh(float16[7])", "cosh(float64[2,1,3])",
                "cosh(float32[0,4])", "cosh(float32[])"},
};

}  // namespace tessera::ops
