// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kGeluTanh{
    .name = "nn.gelu_tanh",
    .doc =
        "y[i...] = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), x = x[i...]   x: "
        "T[d...] -> T[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval =
        [](const EvalArgs& a) {
          return eval_unary(a, [](double x) -> double {
            return x / 2 * (1 + std::tanh(std::sqrt(M_2_PI) * (x + 0.044715 * x * x * x)));
          });
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_with_parameters(a, 0, 0, [](Expr x, Expr, Expr) -> Expr {
            const auto number = [&](double value) { return tir::imm(value, x.dtype()); };
            const Expr inner = number(std::sqrt(M_2_PI)) * (x + number(0.044715) * (x * x * x));
            return x * number(0.5) * (1 + tir::call("tanh", {inner}));
          });
        },
    .samples = {"nn.gelu_tanh(float32[3,5])", "nn.gelu_tanh(float16[7])",
                "nn.gelu_tanh(bfloat16[7])", "nn.gelu_tanh(float64[2,2])",
                "nn.gelu_tanh(float32[0])"},
};

}  // namespace tessera::ops
