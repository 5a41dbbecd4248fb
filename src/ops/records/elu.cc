// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/attrs/elementwise.h"
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kElu{
    .name = "nn.elu",
    .doc =
        "y[i...] = x[i...] if it is positive, else alpha * (exp(x[i...]) - 1)   x: T[d...] -> "
        "T[d...], T floating-point",
    .operands = {"x"},
    .attrs = relay::attr_schema<EluAttrs>,
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval =
        [](const EvalArgs& a) {
          const auto p = relay::read_attrs<EluAttrs>(a.attrs);
          return eval_with_parameters(a, p.alpha, 0, [](double x, double a, double) {
            return x < 0 ? a * (std::exp(x) - 1) : x;
          });
        },
    .compute =
        [](const ComputeArgs& a) {
          const auto p = relay::read_attrs<EluAttrs>(a.attrs);
          return compute_with_parameters(a, p.alpha, 0, [](Expr x, Expr a, Expr) -> Expr {
            return tir::select(tir::lt(x, 0), a * (tir::call("exp", {x}) - 1), x);
          });
        },
    .onnx = {"Elu"},
    .samples = {"nn.elu(float32[3,5])", "nn.elu(float16[7])", "nn.elu(float64[2,2])",
                "nn.elu(float32[0])", "nn.elu(float32[4,3], alpha=0.5)"},
};

}  // namespace tessera::ops
