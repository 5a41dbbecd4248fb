// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/shape.h"
#include "ops/records/reshape.h"

namespace tessera::ops {
namespace {

Result<Type> infer_expand_dims(const InferArgs& args) {
  const Type& data = args.operands[0];
  const auto p = relay::read_attrs<ExpandDimsAttrs>(args.attrs);
  if (p.num_newaxis < 0 || p.num_newaxis > kMostDimensions) {
    return refuse(args, Code::kWrongAttribute, "num_newaxis is {}; 0 to {} is right", p.num_newaxis,
                  kMostDimensions);
  }
  TESSERA_TRY(const std::int64_t axis, normal_axis(args, p.axis, data.rank() + 1));
  Shape shape = data.shape();
  shape.insert(shape.begin() + axis, static_cast<std::size_t>(p.num_newaxis), Dim(1));
  return tensor_type(std::move(shape), data.dtype());
}

// Without divisions, so that it stays a broadcast.
Definitions compute_expand_dims(const ComputeArgs& args) {
  const auto p = relay::read_attrs<ExpandDimsAttrs>(args.attrs);
  const std::int64_t axis = front_axis(p.axis, args.operands[0].rank() + 1);
  return define(args, "y", [&](const Indices& i) {
    Indices at = i;
    at.erase(at.begin() + axis, at.begin() + axis + p.num_newaxis);
    return args.operands[0](at);
  });
}

}  // namespace

constexpr Operator kExpandDims{
    .name = "expand_dims",
    .doc =
        "num_newaxis dimensions of size 1 before dimension `axis`   data: T[a..., b...] -> T[a..., "
        "1..., b...]",
    .operands = {"data"},
    .keeps_order = true,
    .attrs = relay::attr_schema<ExpandDimsAttrs>,
    .pattern = OpPattern::kBroadcast,
    .infer = infer_expand_dims,
    .eval = eval_reshape,
    .compute = compute_expand_dims,
    .samples = {"expand_dims(float32[2,3], axis=1)", "expand_dims(int64[5], axis=-1)",
                "expand_dims(float16[2], axis=0, num_newaxis=2)", "expand_dims(bool[], axis=0)",
                "expand_dims(float32[0,2], axis=2)"},
};

}  // namespace tessera::ops
