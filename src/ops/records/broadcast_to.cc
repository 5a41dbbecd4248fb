// SPDX-License-Identifier: Apache-2.0
#include "ops/records/broadcast_to.h"

#include "ops/attrs/shape.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

Result<Type> infer_broadcast_to(const InferArgs& args) {
  const Type& data = args.operands[0];
  const auto p = relay::read_attrs<BroadcastToAttrs>(args.attrs);
  const Shape wanted(p.shape.begin(), p.shape.end());
  TESSERA_TRY(Shape shape, broadcast_shapes(args, data.shape(), wanted));
  if (shape != wanted) {
    return refuse(args, Code::kShapeMismatch, "cannot broadcast {} to {}", to_string(data.shape()),
                  to_string(wanted));
  }
  return tensor_type(std::move(shape), data.dtype());
}

}  // namespace

std::vector<Tensor> eval_broadcast_to(const EvalArgs& args) {
  const Tensor& data = args.operands[0];
  const Ints shape = static_shape(args.result);
  return {strided_copy(data, shape, broadcast_strides(data.shape, shape), 0)};
}

Definitions compute_broadcast_to(const ComputeArgs& args) {
  return define(args, "y", [&](const Indices& i) {
    return broadcast_read(args.operands[0], result_shape(args), i);
  });
}

constexpr Operator kBroadcastTo{
    .name = "broadcast_to",
    .doc = "data repeated to the shape, by numpy's rule   data: T[d...] -> T[shape]",
    .operands = {"data"},
    .attrs = relay::attr_schema<BroadcastToAttrs>,
    .pattern = OpPattern::kBroadcast,
    .infer = infer_broadcast_to,
    .eval = eval_broadcast_to,
    .compute = compute_broadcast_to,
    .samples = {"broadcast_to(float32[3,1], shape=[2,3,4])", "broadcast_to(int64[], shape=[3])",
                "broadcast_to(float16[1], shape=[0])", "broadcast_to(bool[2,3], shape=[2,3])"},
};

}  // namespace tessera::ops
