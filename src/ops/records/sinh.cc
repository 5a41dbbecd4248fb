// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kSinh{
    .name = "sinh",
    .doc =
        "y[i...] = sinh(x[i...]), the hyperbolic sine of x   x: T[d...] -> T[d...], T "
        "floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::sinh); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("sinh", x); });
        },
    .onnx = {"Sinh"},
    .samples = {"sinh(float32[3,5])", "sinh(float16[7])", "sinh(float64[2,1,3])",
                "sinh(float32[0,4])", "sinh(float32[])"},
};

}  // namespace tessera::ops
