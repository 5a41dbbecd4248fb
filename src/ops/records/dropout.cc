// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/norm.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {

constexpr Operator kDropout{
    .name = "nn.dropout",
    .doc =
        "At inference the operand itself, and a mask of ones   data: T[d...] -> (T[d...], T[d...])",
    .operands = {"data"},
    .attrs = relay::attr_schema<DropoutAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = [](const InferArgs& args) -> Result<Type> {
      return tuple_type({args.operands[0], args.operands[0]});
    },
    .eval =
        [](const EvalArgs& args) {
          const std::vector<double> mask(static_cast<std::size_t>(args.operands[0].num_elements()),
                                         1);
          return std::vector<Tensor>{args.operands[0], tensor_of(args.result.fields()[1], mask)};
        },
    .compute =
        [](const ComputeArgs& args) {
          const TensorExpr& x = args.operands[0];
          return Definitions{
              tir::compute("y", x.shape(), [&](const Indices& i) { return x(i); }),
              tir::compute("mask", x.shape(), [&](const Indices&) { return one(x.dtype()); })};
        },
    .samples = {"nn.dropout(float32[2,3])", "nn.dropout(float16[4], rate=0.1)",
                "nn.dropout(float32[0])"},
};

}  // namespace tessera::ops
