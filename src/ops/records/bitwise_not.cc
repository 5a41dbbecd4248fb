// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {

constexpr Operator kBitwiseNot{
    .name = "bitwise_not",
    .doc = "y[i...] = ~x[i...]   x: T[d...] -> T[d...], T integer",
    .operands = {"x"},
    .pattern = OpPattern::kElemWise,
    .infer = [](const InferArgs& a) -> Result<Type> {
      TESSERA_TRY_VOID(expect_int(a, 0));
      return a.operands[0];
    },
    .eval =
        [](const EvalArgs& a) {
          return eval_unary(a, {nullptr, [](std::int64_t x) { return ~x; }});
        },
    .compute =
        [](const ComputeArgs& a) {
          return compute_unary(a, [](Expr x) -> Expr { return tir::call("bitwise_not", {x}); });
        },
    .onnx = {"BitwiseNot"},
    .samples = {"bitwise_not(int32[3,4])", "bitwise_not(uint8[5])", "bitwise_not(int64[0])"},
};

}  // namespace tessera::ops
