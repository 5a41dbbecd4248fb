// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kRound{
    .name = "round",
    .doc =
        "y[i...] = the integer nearest to x[i...], the even one of two   x: T[d...] -> T[d...], T "
        "floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::nearbyint); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("rint", x); });
        },
    .onnx = {"Round"},
    .samples = {"round(float32[3,5])", "round(float16[7])", "round(float64[2,1,3])",
                "round(float32[0,4])", "round(float32[])"},
};

}  // namespace tessera::ops
