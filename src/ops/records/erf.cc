// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kErf{
    .name = "erf",
    .doc =
        "y[i...] = erf(x[i...]), the error function of x   x: T[d...] -> T[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::erf); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("erf", x); });
        },
    .onnx = {"Erf"},
    .samples = {"erf(float32[3,5])", "erf(float16[7])", "erf(float64[2,1,3])", "erf(float32[0,4])",
                "erf(float32[])"},
};

}  // namespace tessera::ops
