// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kFloor{
    .name = "floor",
    .doc =
        "y[i...] = floor(x[i...]), the greatest integer not above x   x: T[d...] -> T[d...], T "
        "floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::floor); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("floor", x); });
        },
    .onnx = {"Floor"},
    .samples = {"floor(float32[3,5])", "floor(float16[7])", "floor(float64[2,1,3])",
                "floor(float32[0,4])", "floor(float32[])"},
};

}  // namespace tessera::ops
