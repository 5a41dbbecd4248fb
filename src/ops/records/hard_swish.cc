// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kHardSwish{
    .name = "nn.hard_swish",
    .doc =
        "y[i...] = x * min(max(x / 6 + 1 / 2, 0), 1), x = x[i...]   x: T[d...] -> T[d...], T "
        "floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval =
        [](const EvalArgs& a) {
          return eval_unary(a, [](double x) -> double {
            return x * min_or_nan(max_or_nan(x / 6 + 0.5, 0.0), 1.0);
          });
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_with_parameters(a, 0, 0, [](Expr x, Expr, Expr) -> Expr {
            return x * tir::min(tir::max(x / 6 + tir::imm(0.5, x.dtype()), 0), 1);
          });
        },
    .onnx = {"HardSwish"},
    .samples = {"nn.hard_swish(float32[3,5])", "nn.hard_swish(float16[7])",
                "nn.hard_swish(float64[2,2])", "nn.hard_swish(float32[0])"},
};

}  // namespace tessera::ops
