// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kAsin{
    .name = "asin",
    .doc = "y[i...] = asin(x[i...]), the arc sine of x   x: T[d...] -> T[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::asin); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("asin", x); });
        },
    .onnx = {"Asin"},
    .samples = {"asin(float32[3,5]{-1..1})", "asin(float16[7]{-1..1})",
                "asin(float64[2,1,3]{-1..1})", "asin(float32[0,4])", "asin(float32[]{-1..1})"},
};

}  // namespace tessera::ops
