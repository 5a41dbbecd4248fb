// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/attrs/elementwise.h"
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kThresholdedRelu{
    .name = "nn.thresholded_relu",
    .doc =
        "y[i...] = x[i...] if it is above alpha, else 0   x: T[d...] -> T[d...], T floating-point",
    .operands = {"x"},
    .attrs = relay::attr_schema<ThresholdedReluAttrs>,
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval =
        [](const EvalArgs& a) {
          const auto p = relay::read_attrs<ThresholdedReluAttrs>(a.attrs);
          return eval_with_parameters(a, p.alpha, 0,
                                      [](double x, double a, double) { return x > a ? x : 0; });
        },
    .compute =
        [](const ComputeArgs& a) {
          const auto p = relay::read_attrs<ThresholdedReluAttrs>(a.attrs);
          return compute_with_parameters(a, p.alpha, 0, [](Expr x, Expr a, Expr) -> Expr {
            return tir::select(tir::gt(x, a), x, 0);
          });
        },
    .onnx = {"ThresholdedRelu"},
    .samples = {"nn.thresholded_relu(float32[3,5])", "nn.thresholded_relu(float16[7])",
                "nn.thresholded_relu(float64[2,2])", "nn.thresholded_relu(float32[0])",
                "nn.thresholded_relu(float32[4,3], alpha=0.2)"},
};

}  // namespace tessera::ops
