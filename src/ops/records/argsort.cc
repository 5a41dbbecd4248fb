// SPDX-License-Identifier: Apache-2.0
#include "ops/records/sorting.h"

namespace tessera::ops {
namespace {

SortOrder order_of_argsort(const relay::Attrs& attrs, std::size_t rank) {
  const auto p = relay::read_attrs<ArgsortAttrs>(attrs);
  return {front_axis(p.axis, rank), p.is_ascend};
}

Result<Type> infer_argsort(const InferArgs& args) {
  const auto p = relay::read_attrs<ArgsortAttrs>(args.attrs);
  TESSERA_TRY_VOID(normal_axis(args, p.axis, args.operands[0].rank()));
  return tensor_type(args.operands[0].shape(), p.dtype);
}

std::vector<Tensor> eval_argsort(const EvalArgs& args) {
  const Tensor& data = args.operands[0];
  return {
      tensor_of(args.result, sorted_places(data, order_of_argsort(args.attrs, data.shape.size())))};
}

Definitions compute_argsort(const ComputeArgs& args) {
  const TensorExpr& data = args.operands[0];
  const TensorExpr places =
      sorted_places(data, order_of_argsort(args.attrs, data.rank()), data.shape());
  return {converted(places, result_dtype(args))};
}

}  // namespace

constexpr Operator kArgsort{
    .name = "argsort",
    .doc = "The places of the elements in sorted order along `axis`   data: T[d...] -> dtype[d...]",
    .operands = {"data"},
    .attrs = relay::attr_schema<ArgsortAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_argsort,
    .eval = eval_argsort,
    .compute = compute_argsort,
    .runtime_symbol = "tessera_argsort",
    .samples = {"argsort(float32[2,7])", "argsort(int32[9,3], axis=0, is_ascend=False)",
                "argsort(float16[9], dtype=\"int64\")"},
};

}  // namespace tessera::ops
