// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/index.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

std::int64_t class_axis(const relay::Attrs& attrs, std::size_t index_rank) {
  return front_axis(relay::read_attrs<OneHotAttrs>(attrs).axis, index_rank + 1);
}

Result<Type> infer_one_hot(const InferArgs& args) {
  const auto p = relay::read_attrs<OneHotAttrs>(args.attrs);
  TESSERA_TRY_VOID(expect_int(args, 0));
  TESSERA_TRY_VOID(expect_rank(args, 1, 0));
  TESSERA_TRY_VOID(expect_rank(args, 2, 0));
  if (p.depth < 0) return refuse(args, Code::kWrongAttribute, "has a depth of {}", p.depth);
  TESSERA_TRY(const std::int64_t axis, normal_axis(args, p.axis, args.operands[0].rank() + 1));
  Shape shape = args.operands[0].shape();
  shape.insert(shape.begin() + axis, Dim(p.depth));
  return tensor_type(std::move(shape), p.dtype);
}

std::vector<Tensor> eval_one_hot(const EvalArgs& args) {
  const Elements<std::int64_t> indices = values_of<std::int64_t>(args.operands[0]);
  const std::int64_t axis = class_axis(args.attrs, args.operands[0].shape.size());
  const Ints strides = row_major_strides(args.operands[0].shape);
  return in_domain(args.result.dtype(), [&]<class T>(T) -> std::vector<Tensor> {
    const T on = values_of<T>(args.operands[1])[0], off = values_of<T>(args.operands[2])[0];
    std::vector<T> out;
    for (Counter c(static_shape(args.result)); c; ++c) {
      Ints at = c.index();
      at.erase(at.begin() + axis);
      std::int64_t flat = 0;
      for (std::size_t d = 0; d < at.size(); ++d) flat += at[d] * strides[d];
      out.push_back(indices[flat] == c[axis] ? on : off);
    }
    return {tensor_of(args.result, out)};
  });
}

Definitions compute_one_hot(const ComputeArgs& args) {
  const std::int64_t axis = class_axis(args.attrs, args.operands[0].rank());
  const DType dtype = result_dtype(args);
  return define(args, "y", [&](const Indices& i) {
    Indices at = i;
    at.erase(at.begin() + axis);
    return tir::select(tir::eq(tir::cast(args.operands[0](at), kInt64), i[axis]),
                       tir::cast(args.operands[1]({}), dtype),
                       tir::cast(args.operands[2]({}), dtype));
  });
}

}  // namespace

constexpr Operator kOneHot{
    .name = "one_hot",
    .doc =
        "y[a..., k, b...] = indices[a..., b...] = k ? on_value : off_value, with k along the new "
        "dimension "
        "`axis`   indices: int[a..., b...], on_value, off_value: T[] -> dtype[a..., depth, b...]",
    .operands = {"indices", "on_value", "off_value"},
    .attrs = relay::attr_schema<OneHotAttrs>,
    .pattern = OpPattern::kOutFusable,
    .infer = infer_one_hot,
    .eval = eval_one_hot,
    .compute = compute_one_hot,
    .samples =
        {"one_hot(int64[3]{0..4}, float32[], float32[], depth=5)",
         "one_hot(int32[2,3]{-1..4}, int64[], int64[], depth=4, axis=1, dtype=\"int64\")",
         "one_hot(uint8[2]{0..2}, float16[], float16[], depth=3, axis=0, dtype=\"float16\")"},
};

}  // namespace tessera::ops
