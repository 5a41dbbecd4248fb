// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kSoftplus{
    .name = "nn.softplus",
    .doc =
        "y[i...] = log(1 + exp(x[i...])), computed as max(x, 0) + log(1 + exp(-|x|))   x: T[d...] "
        "-> T[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval =
        [](const EvalArgs& a) {
          return eval_unary(a, [](double x) -> double {
            return max_or_nan(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
          });
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_with_parameters(a, 0, 0, [](Expr x, Expr, Expr) -> Expr {
            return tir::max(x, 0) +
                   tir::call("log1p", {tir::call("exp", {-tir::call("fabs", {x})})});
          });
        },
    .onnx = {"Softplus"},
    .samples = {"nn.softplus(float32[3,5])", "nn.softplus(float16[7])", "nn.softplus(float64[2,2])",
                "nn.softplus(float32[0])"},
};

}  // namespace tessera::ops
