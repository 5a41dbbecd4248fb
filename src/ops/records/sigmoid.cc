// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kSigmoid{
    .name = "sigmoid",
    .doc = "y[i...] = 1 / (1 + exp(-x[i...]))   x: T[d...] -> T[d...], T floating-point",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = float_as_first,
    .eval =
        [](const EvalArgs& a) {
          return eval_unary(a, [](double x) { return 1 / (1 + std::exp(-x)); });
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return float_call("sigmoid", x); });
        },
    .onnx = {"Sigmoid"},
    .samples = {"sigmoid(float32[3,5])", "sigmoid(float16[7])", "sigmoid(float64[2,1,3])",
                "sigmoid(float32[0,4])", "sigmoid(float32[])"},
};

}  // namespace tessera::ops
