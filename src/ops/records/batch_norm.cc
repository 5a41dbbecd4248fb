// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/attrs/norm.h"
#include "ops/records/normalize.h"

namespace tessera::ops {
namespace {

Result<Type> infer_batch_norm(const InferArgs& args) {
  const auto p = relay::read_attrs<BatchNormAttrs>(args.attrs);
  TESSERA_TRY(Type data, infer_normalize(args, p.axis));
  return tuple_type({data, args.operands[3], args.operands[4]});
}

std::int64_t channel_axis_of_batch_norm(const relay::Attrs& attrs, std::size_t rank) {
  return front_axis(relay::read_attrs<BatchNormAttrs>(attrs).axis, rank);
}

std::vector<Tensor> eval_batch_norm(const EvalArgs& args) {
  const auto p = relay::read_attrs<BatchNormAttrs>(args.attrs);
  Elements<double> x = values_of<double>(args.operands[0]);
  Elements<double> params[4];
  for (std::size_t i = 0; i < 4; ++i) params[i] = values_of<double>(args.operands[i + 1]);
  const auto& [gamma, beta, mean, variance] = params;
  const Ints& shape = args.operands[0].shape;
  const std::int64_t axis = channel_axis_of_batch_norm(args.attrs, shape.size());
  std::size_t at = 0;
  for (Counter i(shape); i; ++i, ++at) {
    const std::int64_t c = i[axis];
    const double factor = (p.scale ? gamma[c] : 1) / std::sqrt(variance[c] + p.epsilon);
    x[at] = (x[at] - mean[c]) * factor + (p.center ? beta[c] : 0);
  }
  return {tensor_of(args.result.fields()[0], x), args.operands[3], args.operands[4]};
}

Definitions compute_batch_norm(const ComputeArgs& args) {
  const auto p = relay::read_attrs<BatchNormAttrs>(args.attrs);
  const auto& in = args.operands;
  const std::int64_t axis = channel_axis_of_batch_norm(args.attrs, in[0].rank());
  const DType wide = accumulator(in[0].dtype());
  const auto param = [&](std::size_t i, const Indices& at) { return widened(in[i]({at[axis]})); };
  Definitions out{tir::compute("normalized", result_shape(args, 0), [&](const Indices& i) {
    const Expr deviation = tir::call("sqrt", {param(4, i) + tir::imm(p.epsilon, wide)});
    Expr y = (widened(in[0](i)) - param(3, i)) / deviation;
    if (p.scale) y = y * param(1, i);
    if (p.center) y = y + param(2, i);
    return tir::cast(y, in[0].dtype());
  })};
  for (std::size_t k : {3u, 4u}) {
    out.push_back(
        tir::compute("statistic", in[k].shape(), [&](const Indices& i) { return in[k](i); }));
  }
  return out;
}

}  // namespace

constexpr Operator kBatchNorm{
    .name = "nn.batch_norm",
    .doc =
        "y = (x - mean) / sqrt(variance + epsilon) * gamma + beta along `axis`, with mean and "
        "variance "
        "as given, which are the second and third result   data: T[d...], four of T[d[axis]] -> "
        "(T[d...], T[d[axis]], T[d[axis]])",
    .operands = {"data", "gamma", "beta", "moving_mean", "moving_var"},
    .attrs = relay::attr_schema<BatchNormAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_batch_norm,
    .eval = eval_batch_norm,
    .compute = compute_batch_norm,
    .samples =
        {"nn.batch_norm(float32[2,3,4], float32[3], float32[3], float32[3], float32[3]{0.1..2})",
         "nn.batch_norm(float16[2,3], float16[3], float16[3], float16[3], float16[3]{0.1..2}, "
         "axis=-1, scale=False)",
         "nn.batch_norm(float64[1,2,2,3], float64[2], float64[2], float64[2], "
         "float64[2]{0.1..2}, epsilon=0.001, center=False)"},
};

}  // namespace tessera::ops
