// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/attrs/elementwise.h"
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kSelu{
    .name = "nn.selu",
    .doc =
        "y[i...] = gamma * (x[i...] if it is positive, else alpha * (exp(x[i...]) - 1))   x: "
        "T[d...] -> T[d...], T floating-point",
    .operands = {"x"},
    .attrs = relay::attr_schema<SeluAttrs>,
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval =
        [](const EvalArgs& a) {
          const auto p = relay::read_attrs<SeluAttrs>(a.attrs);
          return eval_with_parameters(a, p.alpha, p.gamma, [](double x, double a, double b) {
            return b * (x < 0 ? a * (std::exp(x) - 1) : x);
          });
        },
    .compute =
        [](const ComputeArgs& a) {
          const auto p = relay::read_attrs<SeluAttrs>(a.attrs);
          return compute_with_parameters(a, p.alpha, p.gamma, [](Expr x, Expr a, Expr b) -> Expr {
            return b * tir::select(tir::lt(x, 0), a * (tir::call("exp", {x}) - 1), x);
          });
        },
    .onnx = {"Selu"},
    .samples = {"nn.selu(float32[3,5])", "nn.selu(float16[7])", "nn.selu(float64[2,2])",
                "nn.selu(float32[0])", "nn.selu(float32[4,3], alpha=1.5, gamma=2.0)"},
};

}  // namespace tessera::ops
