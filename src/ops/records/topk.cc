// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/records/size_rules.h"
#include "ops/records/sorting.h"

namespace tessera::ops {
namespace {

SortOrder order_of_topk(const relay::Attrs& attrs, std::size_t rank) {
  const auto p = relay::read_attrs<TopKAttrs>(attrs);
  return {front_axis(p.axis, rank), p.is_ascend};
}

Result<Type> infer_topk(const InferArgs& args) {
  const Type& data = args.operands[0];
  const auto p = relay::read_attrs<TopKAttrs>(args.attrs);
  TESSERA_TRY(const std::int64_t axis, normal_axis(args, p.axis, data.rank()));
  Shape shape = data.shape();
  if (p.k >= 1) {
    if (shape[axis].is_constant() && p.k > shape[axis].constant()) {
      return refuse(args, Code::kShapeMismatch, "cannot choose {} of {} elements", p.k,
                    to_string(shape[axis]));
    }
    TESSERA_TRY_VOID(at_least(args, shape[axis], Dim(p.k), "elements and the number to choose"));
    shape[axis] = Dim(p.k);  // otherwise all, as Relay has it
  }
  const Type values = tensor_type(shape, data.dtype()), places = tensor_type(shape, p.dtype);
  if (p.ret_type == "values") return values;
  if (p.ret_type == "indices") return places;
  if (p.ret_type == "both") return tuple_type({values, places});
  return refuse(args, Code::kWrongAttribute, "has ret_type \"{}\"; it is both, values or indices",
                p.ret_type);
}

std::vector<Tensor> eval_topk(const EvalArgs& args) {
  const Tensor& data = args.operands[0];
  const auto p = relay::read_attrs<TopKAttrs>(args.attrs);
  const SortOrder order = order_of_topk(args.attrs, data.shape.size());
  const Elements<std::int64_t> places = sorted_places(data, order);
  const Type first = flatten(args.result)[0];
  const Ints shape = static_shape(first), strides = row_major_strides(data.shape);
  Ints chosen;
  for (Counter c(shape); c; ++c) chosen.push_back(places[c.offset(strides)]);
  std::vector<Tensor> out;
  if (p.ret_type != "indices") out.push_back(taken_along(data, places, shape, order.axis));
  if (p.ret_type != "values") out.push_back(tensor_from_ints(shape, p.dtype, chosen));
  return out;
}

Definitions compute_topk(const ComputeArgs& args) {
  const TensorExpr& data = args.operands[0];
  const auto p = relay::read_attrs<TopKAttrs>(args.attrs);
  const SortOrder order = order_of_topk(args.attrs, data.rank());
  const TensorExpr places = sorted_places(data, order, result_shape(args, 0));
  Definitions out;
  if (p.ret_type != "indices") out.push_back(taken_along(data, places, order.axis));
  if (p.ret_type != "values") out.push_back(converted(places, p.dtype));
  return out;
}

}  // namespace

constexpr Operator kTopk{
    .name = "topk",
    .doc =
        "The k greatest (least if is_ascend) elements along `axis` in order, and their places; of "
        "equal ones "
        "the first come first   data: T[a..., n, b...] -> (T[a..., k, b...], dtype[a..., k, b...])",
    .operands = {"data"},
    .attrs = relay::attr_schema<TopKAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_topk,
    .eval = eval_topk,
    .compute = compute_topk,
    .runtime_symbol = "tessera_topk",
    .samples = {"topk(float32[3,7], k=3)",
                "topk(int32[9,2], k=4, axis=0, is_ascend=True, dtype=\"int64\")",
                "topk(float16[5], k=1, ret_type=\"values\")",
                "topk(float32[2,4], k=2, ret_type=\"indices\")"},
};

}  // namespace tessera::ops
