// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/elementwise.h"
#include "ops/records/elementwise.h"

namespace tessera::ops {
namespace {

Result<Type> infer_bias_add(const InferArgs& args) {
  const Type &data = args.operands[0], &bias = args.operands[1];
  TESSERA_TRY_VOID(expect_same_dtype(args));
  TESSERA_TRY_VOID(expect_rank(args, 1, 1));
  const auto p = relay::read_attrs<BiasAddAttrs>(args.attrs);
  TESSERA_TRY(const std::int64_t axis, normal_axis(args, p.axis, data.rank()));
  Shape shape = data.shape();
  TESSERA_TRY(shape[axis], agreed(args, shape[axis], bias.shape()[0], "sizes of axis and bias"));
  return tensor_type(std::move(shape), data.dtype());
}

std::int64_t channel_axis_of_bias_add(const relay::Attrs& attrs, std::size_t rank) {
  return front_axis(relay::read_attrs<BiasAddAttrs>(attrs).axis, rank);
}

std::vector<Tensor> eval_bias_add(const EvalArgs& args) {
  const Ints shape = static_shape(args.result);
  const std::int64_t axis = channel_axis_of_bias_add(args.attrs, shape.size());
  return in_domain(args.result.dtype(), [&]<class T>(T) -> std::vector<Tensor> {
    Elements<T> values = values_of<T>(args.operands[0]);
    const Elements<T> bias = values_of<T>(args.operands[1]);
    std::size_t at = 0;
    for (Counter c(shape); c; ++c, ++at) values[at] = wrapping_add(values[at], bias[c[axis]]);
    return {tensor_of(args.result, values)};
  });
}

Definitions compute_bias_add(const ComputeArgs& args) {
  return define(args, "y", [&](const Indices& i) {
    return args.operands[0](i) +
           args.operands[1]({i[channel_axis_of_bias_add(args.attrs, i.size())]});
  });
}

}  // namespace

constexpr Operator kBiasAdd{
    .name = "nn.bias_add",
    .doc = "y[i...] = data[i...] + bias[i[axis]]   data: T[d...], bias: T[d[axis]] -> T[d...]",
    .operands = {"data", "bias"},
    .attrs = relay::attr_schema<BiasAddAttrs>,
    .pattern = OpPattern::kBroadcast,
    .infer = infer_bias_add,
    .eval = eval_bias_add,
    .compute = compute_bias_add,
    .samples = {"nn.bias_add(float32[2,3,5], float32[3])",
                "nn.bias_add(float16[2,7], float16[7], axis=-1)",
                "nn.bias_add(int32[2,3], int32[3])", "nn.bias_add(float32[0,3], float32[3])"},
};

}  // namespace tessera::ops
