// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kLogicalAnd{
    .name = "logical_and",
    .doc =
        "y[i...] = lhs[i...] and rhs[i...]   lhs: bool[a...], rhs: bool[b...] -> bool[broadcast(a, "
        "b)...]",
    .operands = {"lhs", "rhs"},
    .pattern = OpPattern::kBroadcast,
    .infer = infer_logical,
    .eval =
        [](const EvalArgs& a) {
          return eval_binary(
              a, {nullptr, [](std::int64_t x, std::int64_t y) { return std::int64_t{x && y}; }});
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_binary(a, [](Expr x, Expr y) -> Expr { return tir::logical_and(x, y); });
        },
    .onnx = {"And"},
    .samples = {"logical_and(bool[3,5], bool[3,5])", "logical_and(bool[2,1,4], bool[3,1])",
                "logical_and(bool[7], bool[])", "logical_and(bool[2,3], bool[3])",
                "logical_and(bool[0,4], bool[1,4])", "logical_and(bool[5], bool[5])"},
};

}  // namespace tessera::ops
