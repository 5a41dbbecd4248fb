// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kGelu{
    .name = "nn.gelu",
    .doc =
        "y[i...] = x / 2 * (1 + erf(x / sqrt(2))), x = x[i...]   x: T[d...] -> T[d...], T "
        "floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval =
        [](const EvalArgs& a) {
          return eval_unary(
              a, [](double x) -> double { return x / 2 * (1 + std::erf(x * M_SQRT1_2)); });
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_with_parameters(a, 0, 0, [](Expr x, Expr, Expr) -> Expr {
            return x * tir::imm(0.5, x.dtype()) *
                   (1 + tir::call("erf", {x * tir::imm(M_SQRT1_2, x.dtype())}));
          });
        },
    .samples = {"nn.gelu(float32[3,5])", "nn.gelu(float16[7])", "nn.gelu(float64[2,2])",
                "nn.gelu(float32[0])"},
};

}  // namespace tessera::ops
