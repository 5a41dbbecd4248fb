// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kLogicalNot{
    .name = "logical_not",
    .doc = "y[i...] = not x[i...]   x: bool[d...] -> bool[d...]",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = infer_logical,
    .eval =
        [](const EvalArgs& a) {
          return eval_unary(a, {nullptr, [](std::int64_t x) { return std::int64_t{x == 0}; }});
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return tir::logical_not(x); });
        },
    .onnx = {"Not"},
    .samples = {"logical_not(bool[3,4])", "logical_not(bool[])", "logical_not(bool[0])"},
};

}  // namespace tessera::ops
