// SPDX-License-Identifier: Apache-2.0
#include "ops/records/broadcast_to.h"
#include "ops/records/dynamic_shape.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

Result<Type> infer_dyn_broadcast_to(const InferArgs& args) {
  const Type& data = args.operands[0];
  TESSERA_TRY(Shape wanted, shape_operand(args, 1));
  if (wanted.size() < data.rank()) {
    return refuse(args, Code::kShapeMismatch, "cannot broadcast {} to rank {}",
                  to_string(data.shape()), wanted.size());
  }
  TESSERA_TRY_VOID(broadcast_shapes(args, data.shape(), wanted));
  return tensor_type(std::move(wanted), data.dtype());
}

// The list, where the operand's sizes are those or 1.
Definitions shape_of_dyn_broadcast_to(const ComputeArgs& args) {
  const TensorExpr& data = args.operands[0];
  const std::size_t skipped = args.result.rank() - data.rank();
  return define_sizes(args.result.rank(), [&](std::size_t k) {
    const Expr wanted = tir::cast(args.operands[1]({static_cast<std::int64_t>(k)}), kInt64);
    if (k < skipped) return wanted;
    const Expr own = data.shape()[k - skipped];
    const Expr fits = tir::logical_or(tir::eq(own, 1), tir::eq(own, wanted));
    return tir::select(fits, wanted, Expr(-1));
  });
}

}  // namespace

constexpr Operator kDynBroadcastTo{
    .name = "dyn.broadcast_to",
    .doc =
        "data repeated to the shape that `shape` says at run time, by numpy's rule   data: "
        "T[d...], "
        "shape: int64[rank] -> T[shape]",
    .operands = {"data", "shape"},
    .pattern = OpPattern::kBroadcast,
    .infer = infer_dyn_broadcast_to,
    .eval = eval_broadcast_to,
    .compute = compute_broadcast_to,
    .shape = shape_of_dyn_broadcast_to,
    .shape_need = {ShapeNeed::kShape, ShapeNeed::kData},
    .samples = {"dyn.broadcast_to(float32[3,1], int64[3]=[2,3,4])",
                "dyn.broadcast_to(int64[], int64[1]=[4])",
                "dyn.broadcast_to(bool[2], int64[2]=[3,2])"},
};

}  // namespace tessera::ops
