// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kAcos{
    .name = "acos",
    .doc = "y[i...] = acos(x[i...]), the arc cosine of x   x: T[d...] -> T[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::acos); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("acos", x); });
        },
    .onnx = {"Acos"},
    .samples = {"acos(float32[3,5]{-1..1})", "acos(float16[7]{-1..1})",
                "acos(float64[2,1,3]{-1..1})", "acos(float32[0,4])", "acos(float32[]{-1..1})"},
};

}  // namespace tessera::ops
