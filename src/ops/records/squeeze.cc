// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/shape.h"
#include "ops/records/reshape.h"

namespace tessera::ops {
namespace {

Result<Type> infer_squeeze(const InferArgs& args) {
  const Type& data = args.operands[0];
  const auto p = relay::read_attrs<SqueezeAttrs>(args.attrs);
  TESSERA_TRY(const std::vector<bool> dropped, chosen_axes(args, p.axis, false, data.rank()));
  Shape shape;
  for (std::size_t i = 0; i < data.rank(); ++i) {
    const Dim& d = data.shape()[i];
    if (!dropped[i] || (!p.axis && !(d == Dim(1)))) {
      shape.push_back(d);
    } else if (provably_equal(d, Dim(1)) == Tri::kNo) {
      return refuse(args, Code::kShapeMismatch, "cannot drop dimension {} of {}: it is not 1", i,
                    to_string(data.shape()));
    } else {
      TESSERA_TRY_VOID(agreed(args, d, Dim(1), "a dropped dimension and 1"));
    }
  }
  return tensor_type(std::move(shape), data.dtype());
}

Definitions compute_squeeze(const ComputeArgs& args) {
  const auto p = relay::read_attrs<SqueezeAttrs>(args.attrs);
  const TensorExpr& data = args.operands[0];
  const std::vector<bool> dropped = accepted_axes(p.axis, false, data.rank());
  return define(args, "y", [&](const Indices& i) {
    Indices at;
    std::size_t next = 0;
    for (std::size_t d = 0; d < data.rank(); ++d) {
      const bool gone = dropped[d] && (p.axis || tir::is_int(data.shape()[d], 1));
      at.push_back(gone ? Expr(0) : i[next++]);
    }
    return data(at);
  });
}

}  // namespace

constexpr Operator kSqueeze{
    .name = "squeeze",
    .doc =
        "Drops the dimensions `axis` (all, if None) of size 1   data: T[d...] -> T[d without ones]",
    .operands = {"data"},
    .keeps_order = true,
    .attrs = relay::attr_schema<SqueezeAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_squeeze,
    .eval = eval_reshape,
    .compute = compute_squeeze,
    .samples = {"squeeze(float32[1,3,1], axis=[0])", "squeeze(int32[1,3,1], axis=None)",
                "squeeze(float16[2,1], axis=[-1])", "squeeze(bool[1,0], axis=[0])"},
};

}  // namespace tessera::ops
