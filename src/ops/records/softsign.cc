// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kSoftsign{
    .name = "nn.softsign",
    .doc = "y[i...] = x[i...] / (1 + |x[i...]|)   x: T[d...] -> T[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval =
        [](const EvalArgs& a) {
          return eval_unary(a, [](double x) -> double { return x / (1 + std::fabs(x)); });
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_with_parameters(
              a, 0, 0, [](Expr x, Expr, Expr) -> Expr { return x / (1 + tir::call("fabs", {x})); });
        },
    .onnx = {"Softsign"},
    .samples = {"nn.softsign(float32[3,5])", "nn.softsign(float16[7])", "nn.softsign(float64[2,2])",
                "nn.softsign(float32[0])"},
};

}  // namespace tessera::ops
