// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kSign{
    .name = "sign",
    .doc =
        "y[i...] = -1, 0 or 1 as x[i...] is negative, zero or positive; NaN stays   x: T[d...] -> "
        "T[d...]",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = same_as_first,
    .eval =
        [](const EvalArgs& a) {
          return eval_unary(a, each_domain_unary([](auto x) {
                              return x > 0 ? decltype(x)(1) : x < 0 ? decltype(x)(-1) : x;
                            }));
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr {
            return tir::select(tir::gt(x, 0), 1,
                               tir::select(tir::lt(x, 0), zero(x.dtype()) - 1, x));
          });
        },
    .onnx = {"Sign"},
    .samples = {"sign(float32[3,5])", "sign(float16[7])", "sign(float64[2,1,3])",
                "sign(float32[0,4])", "sign(float32[])", "sign(int32[6])", "sign(uint8[3])"},
};

}  // namespace tessera::ops
