// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/shape.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

// The operand's dimension that each one of the result is.
Ints permutation(const relay::Attrs& attrs, std::size_t rank) {
  const auto p = relay::read_attrs<TransposeAttrs>(attrs);
  Ints axes;
  for (std::size_t i = 0; i < rank; ++i) {
    axes.push_back(p.axes ? front_axis((*p.axes)[i], rank)
                          : static_cast<std::int64_t>(rank - 1 - i));
  }
  return axes;
}

Result<Type> infer_transpose(const InferArgs& args) {
  const Type& data = args.operands[0];
  const auto p = relay::read_attrs<TransposeAttrs>(args.attrs);
  if (p.axes && p.axes->size() != data.rank()) {
    return refuse(args, Code::kShapeMismatch, "has {} axes for a tensor of rank {}", p.axes->size(),
                  data.rank());
  }
  TESSERA_TRY_VOID(chosen_axes(args, p.axes, false, data.rank()));
  Shape shape;
  for (std::int64_t axis : permutation(args.attrs, data.rank()))
    shape.push_back(data.shape()[axis]);
  return tensor_type(std::move(shape), data.dtype());
}

std::vector<Tensor> eval_transpose(const EvalArgs& args) {
  const Tensor& data = args.operands[0];
  const Ints dense = row_major_strides(data.shape);
  Ints strides;
  for (std::int64_t axis : permutation(args.attrs, data.shape.size()))
    strides.push_back(dense[axis]);
  return {strided_copy(data, static_shape(args.result), strides, 0)};
}

Definitions compute_transpose(const ComputeArgs& args) {
  const Ints axes = permutation(args.attrs, args.operands[0].rank());
  return define(args, "y", [&](const Indices& i) {
    Indices at(i.size());
    for (std::size_t d = 0; d < axes.size(); ++d) at[axes[d]] = i[d];
    return args.operands[0](at);
  });
}

}  // namespace

constexpr Operator kTranspose{
    .name = "transpose",
    .doc =
        "y[i...] = data[j...] with j[axes[k]] = i[k]   data: T[d...] -> T[d[axes[0]], d[axes[1]], "
        "...]",
    .operands = {"data"},
    .attrs = relay::attr_schema<TransposeAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_transpose,
    .eval = eval_transpose,
    .compute = compute_transpose,
    .samples = {"transpose(float32[2,3,5], axes=[2,0,1])", "transpose(int8[3,4], axes=None)",
                "transpose(float16[2,3,4,5], axes=[0,2,1,-1])", "transpose(bool[0,3], axes=[1,0])",
                "transpose(float64[7], axes=[0])"},
};

}  // namespace tessera::ops
