// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kLog{
    .name = "log",
    .doc =
        "y[i...] = log(x[i...]), the natural logarithm of x   x: T[d...] -> T[d...], T "
        "floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::log); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("log", x); });
        },
    .onnx = {"Log"},
    .samples = {"log(float32[3,5]{0.1..5})", "log(float16[7]{0.1..5})",
                "log(float64[2,1,3]{0.1..5})", "log(float32[0,4])", "log(float32[]{0.1..5})"},
};

}  // namespace tessera::ops
