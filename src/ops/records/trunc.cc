// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kTrunc{
    .name = "trunc",
    .doc = "y[i...] = x[i...] without its fraction   x: T[d...] -> T[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval = [](const EvalArgs& a) { return eval_unary(a, std::trunc); },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("trunc", x); });
        },
    .samples = {"trunc(float32[3,5])", "trunc(float16[7])", "trunc(float64[2,1,3])",
                "trunc(float32[0,4])", "trunc(float32[])"},
};

}  // namespace tessera::ops
