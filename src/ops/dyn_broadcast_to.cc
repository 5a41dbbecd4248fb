// SPDX-License-Identifier: Apache-2.0
#include "ops/dynamic_shape.h"
#include "ops/evaluate.h"
#include "ops/record.h"

namespace tessera::ops {
namespace {

Result<Type> infer(const InferArgs& args) {
  const Type& data = args.operands[0];
  TESSERA_TRY(Shape wanted, shape_operand(args, 1));
  if (wanted.size() < data.rank()) {
    return refuse(args, Code::kShapeMismatch, "cannot broadcast {} to rank {}",
                  to_string(data.shape()), wanted.size());
  }
  TESSERA_TRY_VOID(broadcast_shapes(args, data.shape(), wanted));
  return tensor_type(std::move(wanted), data.dtype());
}

std::vector<Tensor> eval(const EvalArgs& args) {
  const Ints shape = static_shape(args.result);
  return {
      strided_copy(args.operands[0], shape, broadcast_strides(args.operands[0].shape, shape), 0)};
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
    .infer = infer,
    .eval = eval,
    .compute =
        [](const ComputeArgs& args) {
          return define(args, "y", [&](const Indices& i) {
            return broadcast_read(args.operands[0], result_shape(args), i);
          });
        },
    .shape =
        [](const ComputeArgs& args) {
          return define_sizes(args.result.rank(), [&](std::size_t k) {
            return args.operands[1]({static_cast<std::int64_t>(k)});
          });
        },
    .shape_need = {ShapeNeed::kShape, ShapeNeed::kData},
    .samples = {"dyn.broadcast_to(float32[3,1], int64[3]=[2,3,4])",
                "dyn.broadcast_to(int64[], int64[1]=[4])",
                "dyn.broadcast_to(bool[2], int64[2]=[3,2])"},
};

}  // namespace tessera::ops
