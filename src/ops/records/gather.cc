// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/index.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/counted_index.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"
#include "ops/records/size_rules.h"

namespace tessera::ops {
namespace {

Result<Type> infer_gather(const InferArgs& args) {
  const Type &data = args.operands[0], &indices = args.operands[1];
  TESSERA_TRY_VOID(expect_int(args, 1));
  TESSERA_TRY_VOID(expect_rank(args, 1, data.rank()));
  const auto p = relay::read_attrs<GatherAttrs>(args.attrs);
  TESSERA_TRY(const std::int64_t axis, normal_axis(args, p.axis, data.rank()));
  TESSERA_TRY_VOID(indices_covered(args, axis));
  TESSERA_TRY_VOID(has_choice(args, data.shape()[axis], indices.shape()));
  return tensor_type(indices.shape(), data.dtype());
}

std::vector<Tensor> eval_gather(const EvalArgs& args) {
  const Tensor& data = args.operands[0];
  const Elements<std::int64_t> indices = values_of<std::int64_t>(args.operands[1]);
  const std::int64_t axis =
      front_axis(relay::read_attrs<GatherAttrs>(args.attrs).axis, data.shape.size());
  const Ints strides = row_major_strides(data.shape);
  std::size_t next = 0;
  return {gather_elements(data, static_shape(args.result), [&](const Counter& c) {
    const std::int64_t i = counted_index(indices[next++], data.shape[axis]);
    return c.offset(strides) + (i - c[axis]) * strides[axis];
  })};
}

Definitions compute_gather(const ComputeArgs& args) {
  const TensorExpr &data = args.operands[0], &indices = args.operands[1];
  const std::int64_t axis =
      front_axis(relay::read_attrs<GatherAttrs>(args.attrs).axis, data.rank());
  return define(args, "y", [&](const Indices& i) {
    Indices at = i;
    at[axis] = counted_index(tir::cast(indices(i), kInt64), data.shape()[axis]);
    return data(at);
  });
}

}  // namespace

constexpr Operator kGather{
    .name = "gather",
    .doc =
        "y[i...] = data[i... with i[axis] = indices[i...]]; negative indices count from the end, "
        "those outside are the nearest element"
        "   data: T[d...], indices: int[e...] -> T[e...]",
    .operands = {"data", "indices"},
    .attrs = relay::attr_schema<GatherAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_gather,
    .eval = eval_gather,
    .compute = compute_gather,
    .onnx = {"GatherElements"},
    .samples = {"gather(float32[3,4], int64[3,2]{0..3}, axis=1)",
                "gather(float16[3,4], int32[5,4]{-3..2}, axis=0)",
                "gather(int8[2,3,4], int64[2,3,1]{0..3}, axis=-1)",
                "gather(int32[3], int64[6]{-9..9}, axis=0)"},
};

}  // namespace tessera::ops
