// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kAbs{
    .name = "abs",
    .doc = "y[i...] = |x[i...]|   x: T[d...] -> T[d...]",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = same_as_first,
    .eval =
        [](const EvalArgs& a) {
          return eval_unary(a, each_domain_unary([](auto x) {
                              return x < 0 ? wrapping_subtract(decltype(x)(0), x) : x;
                            }));
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr {
            return x.dtype().is_float()        ? float_call("fabs", x)
                   : x.dtype().is_signed_int() ? tir::select(tir::lt(x, 0), -x, x)
                                               : x;
          });
        },
    .onnx = {"Abs"},
    .samples = {"abs(float32[3,5])", "abs(float16[7])", "abs(float64[2,1,3])", "abs(float32[0,4])",
                "abs(float32[])", "abs(int32[5])", "abs(uint8[4])"},
};

}  // namespace tessera::ops
