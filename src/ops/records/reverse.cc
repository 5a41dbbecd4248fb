// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/shape.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

std::int64_t axis_of(const relay::Attrs& attrs, std::size_t rank) {
  return front_axis(relay::read_attrs<ReverseAttrs>(attrs).axis, rank);
}

Result<Type> infer_reverse(const InferArgs& args) {
  const auto p = relay::read_attrs<ReverseAttrs>(args.attrs);
  TESSERA_TRY_VOID(normal_axis(args, p.axis, args.operands[0].rank()));
  return args.operands[0];
}

std::vector<Tensor> eval_reverse(const EvalArgs& args) {
  const Tensor& data = args.operands[0];
  const std::int64_t axis = axis_of(args.attrs, data.shape.size());
  Ints strides = row_major_strides(data.shape);
  const std::int64_t offset = (data.shape[axis] - 1) * strides[axis];
  strides[axis] = -strides[axis];
  return {strided_copy(data, data.shape, strides, offset)};
}

Definitions compute_reverse(const ComputeArgs& args) {
  const TensorExpr& data = args.operands[0];
  const std::int64_t axis = axis_of(args.attrs, data.rank());
  return define(args, "y", [&](const Indices& i) {
    Indices at = i;
    at[axis] = data.shape()[axis] - 1 - i[axis];
    return data(at);
  });
}

}  // namespace

constexpr Operator kReverse{
    .name = "reverse",
    .doc = "data from back to front along `axis`   data: T[d...] -> T[d...]",
    .operands = {"data"},
    .attrs = relay::attr_schema<ReverseAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_reverse,
    .eval = eval_reverse,
    .compute = compute_reverse,
    .samples = {"reverse(float32[2,3], axis=1)", "reverse(int64[4], axis=0)",
                "reverse(float16[2,3,2], axis=-2)", "reverse(bool[0,2], axis=0)"},
};

}  // namespace tessera::ops
