// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/shape.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

Definitions compute_shape_of(const ComputeArgs& args) {
  const std::vector<Expr>& shape = args.operands[0].shape();
  return define(args, "y", [&](const Indices& i) {
    Expr value = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const Expr size = shape[d];
      value = d + 1 == shape.size()
                  ? size
                  : tir::select(tir::eq(i[0], static_cast<std::int64_t>(d)), size, value);
    }
    return tir::cast(value, result_dtype(args));
  });
}

}  // namespace

constexpr Operator kShapeOf{
    .name = "shape_of",
    .doc = "y[k] = the size of dimension k of data   data: T[d...] -> dtype[rank]",
    .operands = {"data"},
    .attrs = relay::attr_schema<ShapeOfAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = [](const InferArgs& args) -> Result<Type> {
      return tensor_type({Dim(static_cast<std::int64_t>(args.operands[0].rank()))},
                         relay::read_attrs<ShapeOfAttrs>(args.attrs).dtype);
    },
    .eval =
        [](const EvalArgs& args) {
          return std::vector<Tensor>{tensor_of(args.result, args.operands[0].shape)};
        },
    .compute = compute_shape_of,
    .samples = {"shape_of(float32[2,3,5])", "shape_of(bool[0,1], dtype=\"int64\")",
                "shape_of(float16[7])", "shape_of(float32[])"},
};

}  // namespace tessera::ops
