// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/attrs/elementwise.h"
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kCelu{
    .name = "nn.celu",
    .doc =
        "y[i...] = max(0, x) + min(0, alpha * (exp(x / alpha) - 1)), x = x[i...]   x: T[d...] -> "
        "T[d...], T floating-point",
    .operands = {"x"},
    .attrs = relay::attr_schema<CeluAttrs>,
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval =
        [](const EvalArgs& a) {
          const auto p = relay::read_attrs<CeluAttrs>(a.attrs);
          return eval_with_parameters(a, p.alpha, 0, [](double x, double a, double) {
            return max_or_nan(x, 0.0) + min_or_nan(a * (std::exp(x / a) - 1), 0.0);
          });
        },
    .compute =
        [](const ComputeArgs& a) {
          const auto p = relay::read_attrs<CeluAttrs>(a.attrs);
          return compute_with_parameters(a, p.alpha, 0, [](Expr x, Expr a, Expr) -> Expr {
            return tir::max(x, 0) + tir::min(a * (tir::call("exp", {x / a}) - 1), 0);
          });
        },
    .onnx = {"Celu"},
    .samples = {"nn.celu(float32[3,5])", "nn.celu(float16[7])", "nn.celu(float64[2,2])",
                "nn.celu(float32[0])", "nn.celu(float32[4,3], alpha=2.0)"},
};

}  // namespace tessera::ops
