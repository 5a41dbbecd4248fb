// SPDX-License-Identifier: Apache-2.0
#include "ops/records/full.h"

#include "ops/attrs/create.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

Result<Type> infer_full(const InferArgs& args) {
  const auto p = relay::read_attrs<FullAttrs>(args.attrs);
  const Type& fill = args.operands[0];
  TESSERA_TRY_VOID(expect_rank(args, 0, 0));
  return tensor_type(Shape(p.shape.begin(), p.shape.end()), p.dtype.value_or(fill.dtype()));
}

}  // namespace

std::vector<Tensor> eval_full(const EvalArgs& args) {
  const Tensor& fill = args.operands[0];
  const auto count = static_cast<std::size_t>(count_of(static_shape(args.result)));
  if (fill.dtype.is_float() && args.result.dtype().is_float()) {
    return {tensor_of(args.result, std::vector<double>(count, element_as_double(fill, 0)))};
  }
  return {tensor_of(args.result, Ints(count, values_of<std::int64_t>(fill)[0]))};
}

Definitions compute_full(const ComputeArgs& args) {
  return define(args, "y", [&](const Indices&) {
    return tir::cast(args.operands[0]({}), result_dtype(args));
  });
}

constexpr Operator kFull{
    .name = "full",
    .doc = "y[i...] = fill_value   fill_value: T[] -> dtype[shape]",
    .operands = {"fill_value"},
    .attrs = relay::attr_schema<FullAttrs>,
    .pattern = OpPattern::kElemWise,
    .infer = infer_full,
    .eval = eval_full,
    .compute = compute_full,
    .samples = {"full(float32[], shape=[2,3])", "full(int64[], shape=[4], dtype=\"float32\")",
                "full(bool[], shape=[2])", "full(float16[], shape=[0,3])",
                "full(int32[], shape=[])"},
};

}  // namespace tessera::ops
