// SPDX-License-Identifier: Apache-2.0
#include "ops/records/sorting.h"

namespace tessera::ops {
namespace {

SortOrder order_of_sort(const relay::Attrs& attrs, std::size_t rank) {
  const auto p = relay::read_attrs<SortAttrs>(attrs);
  return {front_axis(p.axis, rank), p.is_ascend};
}

Result<Type> infer_sort(const InferArgs& args) {
  const auto p = relay::read_attrs<SortAttrs>(args.attrs);
  TESSERA_TRY_VOID(normal_axis(args, p.axis, args.operands[0].rank()));
  return args.operands[0];
}

std::vector<Tensor> eval_sort(const EvalArgs& args) {
  const Tensor& data = args.operands[0];
  const SortOrder order = order_of_sort(args.attrs, data.shape.size());
  return {taken_along(data, sorted_places(data, order), data.shape, order.axis)};
}

Definitions compute_sort(const ComputeArgs& args) {
  const TensorExpr& data = args.operands[0];
  const SortOrder order = order_of_sort(args.attrs, data.rank());
  return {taken_along(data, sorted_places(data, order, data.shape()), order.axis)};
}

}  // namespace

constexpr Operator kSort{
    .name = "sort",
    .doc = "data sorted along `axis`   data: T[d...] -> T[d...]",
    .operands = {"data"},
    .attrs = relay::attr_schema<SortAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_sort,
    .eval = eval_sort,
    .compute = compute_sort,
    .runtime_symbol = "tessera_sort",
    .samples = {"sort(float32[2,7])", "sort(int32[5,3], axis=0, is_ascend=False)",
                "sort(float16[9])", "sort(float32[3,5]{special})"},
};

}  // namespace tessera::ops
