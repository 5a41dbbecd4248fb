// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/attrs/elementwise.h"
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kLeakyRelu{
    .name = "nn.leaky_relu",
    .doc =
        "y[i...] = x[i...] if it is positive, else alpha * x[i...]   x: T[d...] -> T[d...], T "
        "floating-point",
    .operands = {"x"},
    .attrs = relay::attr_schema<LeakyReluAttrs>,
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval =
        [](const EvalArgs& a) {
          const auto p = relay::read_attrs<LeakyReluAttrs>(a.attrs);
          return eval_with_parameters(a, p.alpha, 0,
                                      [](double x, double a, double) { return x < 0 ? a * x : x; });
        },
    .compute =
        [](const ComputeArgs& a) {
          const auto p = relay::read_attrs<LeakyReluAttrs>(a.attrs);
          return compute_with_parameters(a, p.alpha, 0, [](Expr x, Expr a, Expr) -> Expr {
            return tir::select(tir::lt(x, 0), a * x, x);
          });
        },
    .samples = {"nn.leaky_relu(float32[3,5])", "nn.leaky_relu(float16[7])",
                "nn.leaky_relu(float64[2,2])", "nn.leaky_relu(float32[0])",
                "nn.leaky_relu(float32[4,3], alpha=0.1)"},
};

}  // namespace tessera::ops
