// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kMish{
    .name = "nn.mish",
    .doc =
        "y[i...] = x * tanh(log(1 + exp(x))), x = x[i...]   x: T[d...] -> T[d...], T "
        "floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval =
        [](const EvalArgs& a) {
          return eval_unary(
              a, [](double x) -> double { return x * std::tanh(std::log1p(std::exp(x))); });
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_with_parameters(a, 0, 0, [](Expr x, Expr, Expr) -> Expr {
            return x *
                   tir::call("tanh",
                             {tir::max(x, 0) +
                              tir::call("log1p", {tir::call("exp", {-tir::call("fabs", {x})})})});
          });
        },
    .onnx = {"Mish"},
    .samples = {"nn.mish(float32[3,5])", "nn.mish(float16[7])", "nn.mish(float64[2,2])",
                "nn.mish(float32[0])"},
};

}  // namespace tessera::ops
