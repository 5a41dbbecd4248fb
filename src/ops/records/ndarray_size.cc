// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/shape.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {

constexpr Operator kNdarraySize{
    .name = "ndarray_size",
    .doc = "The number of elements of data   data: T[d...] -> dtype[]",
    .operands = {"data"},
    .attrs = relay::attr_schema<ShapeOfAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = [](const InferArgs& args) -> Result<Type> {
      return tensor_type({}, relay::read_attrs<ShapeOfAttrs>(args.attrs).dtype);
    },
    .eval =
        [](const EvalArgs& args) {
          return std::vector<Tensor>{tensor_of(args.result, Ints{args.operands[0].num_elements()})};
        },
    .compute =
        [](const ComputeArgs& args) {
          Expr count = 1;
          for (const Expr& d : args.operands[0].shape()) count = count * d;
          return define(args, "y",
                        [&](const Indices&) { return tir::cast(count, result_dtype(args)); });
        },
    .samples = {"ndarray_size(float32[2,3,5])", "ndarray_size(bool[0,1], dtype=\"int64\")",
                "ndarray_size(float16[])"},
};

}  // namespace tessera::ops
