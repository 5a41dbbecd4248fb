// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/elementwise.h"
#include "ops/records/elementwise.h"

namespace tessera::ops {
namespace {

Result<Type> infer_prelu(const InferArgs& args) {
  const Type &data = args.operands[0], &alpha = args.operands[1];
  TESSERA_TRY_VOID(expect_same_dtype(args));
  TESSERA_TRY_VOID(expect_rank(args, 1, 1));
  const auto p = relay::read_attrs<PreluAttrs>(args.attrs);
  TESSERA_TRY(const std::int64_t axis, normal_axis(args, p.axis, data.rank()));
  Shape shape = data.shape();
  TESSERA_TRY(shape[axis], agreed(args, shape[axis], alpha.shape()[0], "sizes of axis and slope"));
  return tensor_type(std::move(shape), data.dtype());
}

std::int64_t channel_axis_of_prelu(const relay::Attrs& attrs, std::size_t rank) {
  return front_axis(relay::read_attrs<PreluAttrs>(attrs).axis, rank);
}

std::vector<Tensor> eval_prelu(const EvalArgs& args) {
  const Ints shape = static_shape(args.result);
  const std::int64_t axis = channel_axis_of_prelu(args.attrs, shape.size());
  Elements<double> values = values_of<double>(args.operands[0]);
  const Elements<double> alpha = values_of<double>(args.operands[1]);
  std::size_t at = 0;
  for (Counter c(shape); c; ++c, ++at) {
    if (values[at] < 0) values[at] *= alpha[c[axis]];
  }
  return {tensor_of(args.result, values)};
}

Definitions compute_prelu(const ComputeArgs& args) {
  return define(args, "y", [&](const Indices& i) {
    const Expr x = args.operands[0](i);
    const Expr alpha = args.operands[1]({i[channel_axis_of_prelu(args.attrs, i.size())]});
    return tir::select(tir::lt(x, 0), x * alpha, x);
  });
}

}  // namespace

constexpr Operator kPrelu{
    .name = "nn.prelu",
    .doc =
        "y[i...] = x if x > 0 else alpha[i[axis]] * x, x = data[i...]"
        "   data: T[d...], alpha: T[d[axis]] -> T[d...]",
    .operands = {"data", "alpha"},
    .attrs = relay::attr_schema<PreluAttrs>,
    .pattern = OpPattern::kBroadcast,
    .infer = infer_prelu,
    .eval = eval_prelu,
    .compute = compute_prelu,
    .samples = {"nn.prelu(float32[2,3,5], float32[3])",
                "nn.prelu(float16[2,7], float16[7], axis=-1)",
                "nn.prelu(float32[0,3], float32[3])"},
};

}  // namespace tessera::ops
