// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kRelu{
    .name = "nn.relu",
    .doc = "y[i...] = max(x[i...], 0)   x: T[d...] -> T[d...]",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = same_as_first,
    .eval =
        [](const EvalArgs& a) {
          return eval_unary(
              a, each_domain_unary([](auto x) { return max_or_nan(x, decltype(x)(0)); }));
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return tir::max(x, zero(x.dtype())); });
        },
    .onnx = {"Relu"},
    .samples = {"nn.relu(float32[3,5])", "nn.relu(float16[7])", "nn.relu(float64[2,1,3])",
                "nn.relu(float32[0,4])", "nn.relu(float32[])", "nn.relu(int32[6])",
                "nn.relu(uint8[3])"},
};

}  // namespace tessera::ops
