// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kBitwiseOr{
    .name = "bitwise_or",
    .doc =
        "y[i...] = lhs[i...] | rhs[i...]   lhs: T[a...], rhs: T[b...] -> T[broadcast(a, b)...], T "
        "integer or bool",
    .operands = {"lhs", "rhs"},
    .pattern = OpPattern::kBroadcast,
    .infer = infer_binary_int,
    .eval =
        [](const EvalArgs& a) {
          return eval_binary(a, {nullptr, [](std::int64_t x, std::int64_t y) { return x | y; }});
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_binary(a, [](Expr x, Expr y) -> Expr {
            return tir::call("bitwise_or", {x, y});
          });
        },
    .onnx = {"BitwiseOr"},
    .samples = {"bitwise_or(int32[3,5], int32[3,5])", "bitwise_or(uint8[2,1,4], uint8[3,1])",
                "bitwise_or(int64[7], int64[])", "bitwise_or(bool[2,3], bool[3])",
                "bitwise_or(int32[0,4], int32[1,4])", "bitwise_or(uint8[5], uint8[5])"},
};

}  // namespace tessera::ops
