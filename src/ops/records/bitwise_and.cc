// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kBitwiseAnd{
    .name = "bitwise_and",
    .doc =
        "y[i...] = lhs[i...] & rhs[i...]   lhs: T[a...], rhs: T[b...] -> T[broadcast(a, b)...], T "
        "integer or bool",
    .operands = {"lhs", "rhs"},
    .pattern = OpPattern::kBroadcast,
    .infer = infer_binary_int,
    .eval =
        [](const EvalArgs& a) {
          return eval_binary(a, {nullptr, [](std::int64_t x, std::int64_t y) { return x & y; }});
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_binary(a, [](Expr x, Expr y) -> Expr {
            return tir::call("bitwise_and", {x, y});
          });
        },
    .onnx = {"BitwiseAnd"},
    .samples = {"bitwise_and(int32[3,5], int32[3,5])", "bitwise_and(uint8[2,1,4], uint8[3,1])",
                "bitwise_and(int64[7], int64[])", "bitwise_and(bool[2,3], bool[3])",
                "bitwise_and(int32[0,4], int32[1,4])", "bitwise_and(uint8[5], uint8[5])"},
};

}  // namespace tessera::ops
