// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/elementwise.h"
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kHardSigmoid{
    .name = "nn.hard_sigmoid",
    .doc =
        "y[i...] = min(max(alpha * x[i...] + beta, 0), 1)   x: T[d...] -> T[d...], T "
        "floating-point",
    .operands = {"x"},
    .attrs = relay::attr_schema<HardSigmoidAttrs>,
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval =
        [](const EvalArgs& a) {
          const auto p = relay::read_attrs<HardSigmoidAttrs>(a.attrs);
          return eval_with_parameters(a, p.alpha, p.beta, [](double x, double a, double b) {
            return min_or_nan(max_or_nan(a * x + b, 0.0), 1.0);
          });
        },
    .compute =
        [](const ComputeArgs& a) {
          const auto p = relay::read_attrs<HardSigmoidAttrs>(a.attrs);
          return compute_with_parameters(a, p.alpha, p.beta, [](Expr x, Expr a, Expr b) -> Expr {
            return tir::min(tir::max(a * x + b, 0), 1);
          });
        },
    .onnx = {"HardSigmoid"},
    .samples = {"nn.hard_sigmoid(float32[3,5])", "nn.hard_sigmoid(float16[7])",
                "nn.hard_sigmoid(float64[2,2])", "nn.hard_sigmoid(float32[0])",
                "nn.hard_sigmoid(float32[4,3], alpha=0.5, beta=0.4)"},
};

}  // namespace tessera::ops
