// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kCeil{
    .name = "ceil",
    .doc =
        "y[i...] = ceil(x[i...]), the least integer not below x   x: T[d...] -> T[d...], T "
        "floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::ceil); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("ceil", x); });
        },
    .onnx = {"Ceil"},
    .samples = {"ceil(float32[3,5])", "ceil(float16[7])", "ceil(float64[2,1,3])",
                "ceil(float32[0,4])", "ceil(float32[])"},
};

}  // namespace tessera::ops
