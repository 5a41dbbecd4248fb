// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/shape.h"
#include "ops/records/reshape.h"

namespace tessera::ops {
namespace {

Result<Type> infer_repeat(const InferArgs& args) {
  const Type& data = args.operands[0];
  const auto p = relay::read_attrs<RepeatAttrs>(args.attrs);
  if (p.repeats < 0)
    return refuse(args, Code::kWrongAttribute, "cannot repeat {} times", p.repeats);
  if (!p.axis) return tensor_type({num_elements(data.shape()) * Dim(p.repeats)}, data.dtype());
  TESSERA_TRY(const std::int64_t axis, normal_axis(args, *p.axis, data.rank()));
  Shape shape = data.shape();
  shape[axis] = shape[axis] * Dim(p.repeats);
  return tensor_type(std::move(shape), data.dtype());
}

std::vector<Tensor> eval_repeat(const EvalArgs& args) {
  const auto p = relay::read_attrs<RepeatAttrs>(args.attrs);
  const Tensor data =
      p.axis ? args.operands[0] : reshaped(args.operands[0], {args.operands[0].num_elements()});
  const std::int64_t axis = front_axis(p.axis.value_or(0), data.shape.size());
  const Ints strides = row_major_strides(data.shape);
  return {gather_elements(data, static_shape(args.result), [&](const Counter& c) {
    return c.offset(strides) + (c[axis] / p.repeats - c[axis]) * strides[axis];
  })};
}

Definitions compute_repeat(const ComputeArgs& args) {
  const auto p = relay::read_attrs<RepeatAttrs>(args.attrs);
  const TensorExpr& data = args.operands[0];
  const std::vector<Expr> shape = result_shape(args);
  return define(args, "y", [&](const Indices& i) {
    Indices at = i;
    const std::int64_t axis = front_axis(p.axis.value_or(0), i.size());
    at[axis] = tir::floor_div(at[axis], p.repeats);
    if (p.axis) return data(at);
    return data(reshaped_index(data.shape(), {tir::floor_div(shape[0], p.repeats)}, at));
  });
}

}  // namespace

constexpr Operator kRepeat{
    .name = "repeat",
    .doc =
        "Each slice along `axis` `repeats` times; without axis, each element of the flattened "
        "tensor"
        "   data: T[a..., n, b...] -> T[a..., n * repeats, b...]",
    .operands = {"data"},
    .attrs = relay::attr_schema<RepeatAttrs>,
    .pattern = OpPattern::kBroadcast,
    .infer = infer_repeat,
    .eval = eval_repeat,
    .compute = compute_repeat,
    .samples = {"repeat(float32[2,3], repeats=2, axis=1)", "repeat(int64[2,2], repeats=3)",
                "repeat(float16[2,3,2], repeats=2, axis=-2)",
                "repeat(bool[0,2], repeats=2, axis=0)"},
};

}  // namespace tessera::ops
