// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kAdd{
    .name = "add",
    .doc = "y[i...] = lhs[i...] + rhs[i...]   lhs: T[a...], rhs: T[b...] -> T[broadcast(a, b)...]",
    .operands = {"lhs", "rhs"},
    .pattern = OpPattern::kBroadcast,
    .infer = infer_binary,
    .eval =
        [](const EvalArgs& a) {
          return eval_binary(a, each_domain([](auto x, auto y) { return wrapping_add(x, y); }));
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_binary(a, [](Expr x, Expr y) -> Expr { return x + y; });
        },
    .onnx = {"Add"},
    .samples = {"add(float32[3,5], float32[3,5])", "add(float16[2,1,4], float16[3,1])",
                "add(int32[7], int32[])", "add(int64[2,3], int64[3])",
                "add(uint8[0,4], uint8[1,4])", "add(float32[5], float32[5])"},
};

}  // namespace tessera::ops
