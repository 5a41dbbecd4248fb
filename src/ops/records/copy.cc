// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kCopy{
    .name = "copy",
    .doc = "y[i...] = x[i...]   x: T[d...] -> T[d...]",
    .operands = {"x"},
    .keeps_order = true,
    .pattern = OpPattern::kElemWise,
    .infer = same_as_first,
    .eval = [](const EvalArgs& a) { return std::vector<Tensor>{a.operands[0]}; },
    .compute =
        [](const ComputeArgs& a) { return compute_unary(a, [](Expr x) -> Expr { return x; }); },
    .samples = {"copy(float32[3,4])", "copy(bool[2])", "copy(int8[0])"},
};

}  // namespace tessera::ops
