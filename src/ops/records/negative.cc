// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kNegative{
    .name = "negative",
    .doc = "y[i...] = -x[i...]   x: T[d...] -> T[d...]",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = same_as_first,
    .eval =
        [](const EvalArgs& a) {
          return eval_unary(a,
                            {[](double x) { return -x; },
                             [](std::int64_t x) { return wrapping_subtract(std::int64_t{0}, x); }});
        },
    .compute =
        [](const ComputeArgs& a) { return compute_unary(a, [](Expr x) -> Expr { return -x; }); },
    .onnx = {"Neg"},
    .samples = {"negative(float32[3,5])", "negative(float16[7])", "negative(float64[2,1,3])",
                "negative(float32[0,4])", "negative(float32[])", "negative(int8[5])",
                "negative(int64[2,2])"},
};

}  // namespace tessera::ops
