// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/attrs/elementwise.h"
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kShrink{
    .name = "nn.shrink",
    .doc =
        "y[i...] = x - bias above lambd, x + bias below -lambd, else 0   x: T[d...] -> T[d...], T "
        "floating-point",
    .operands = {"x"},
    .attrs = relay::attr_schema<ShrinkAttrs>,
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval =
        [](const EvalArgs& a) {
          const auto p = relay::read_attrs<ShrinkAttrs>(a.attrs);
          return eval_with_parameters(a, p.lambd, p.bias, [](double x, double a, double b) {
            return x > a ? x - b : x < -a ? x + b : 0;
          });
        },
    .compute =
        [](const ComputeArgs& a) {
          const auto p = relay::read_attrs<ShrinkAttrs>(a.attrs);
          return compute_with_parameters(a, p.lambd, p.bias, [](Expr x, Expr a, Expr b) -> Expr {
            return tir::select(tir::gt(x, a), x - b, tir::select(tir::lt(x, -a), x + b, 0));
          });
        },
    .onnx = {"Shrink"},
    .samples = {"nn.shrink(float32[3,5])", "nn.shrink(float16[7])", "nn.shrink(float64[2,2])",
                "nn.shrink(float32[0])", "nn.shrink(float32[4,3], lambd=0.7, bias=0.2)"},
};

}  // namespace tessera::ops
