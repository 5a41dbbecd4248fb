// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/norm.h"
#include "ops/records/normalize.h"

namespace tessera::ops {
namespace {

Normalization normalization_of_layer_norm(const relay::Attrs& attrs, std::size_t rank) {
  const auto p = relay::read_attrs<LayerNormAttrs>(attrs);
  return {accepted_axes(Ints{p.axis}, false, rank), front_axis(p.axis, rank), p.epsilon, p.center,
          p.scale};
}

}  // namespace

constexpr Operator kLayerNorm{
    .name = "nn.layer_norm",
    .doc =
        "y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, over `axis` (Ba et al. 2016)"
        "   data: T[d...], gamma: T[d[axis]], beta: T[d[axis]] -> T[d...]",
    .operands = {"data", "gamma", "beta"},
    .attrs = relay::attr_schema<LayerNormAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer =
        [](const InferArgs& args) {
          return infer_normalize(args, relay::read_attrs<LayerNormAttrs>(args.attrs).axis);
        },
    .eval =
        [](const EvalArgs& args) {
          return eval_normalize(
              args, normalization_of_layer_norm(args.attrs, args.operands[0].shape.size()));
        },
    .compute =
        [](const ComputeArgs& args) {
          return compute_normalize(
              args, normalization_of_layer_norm(args.attrs, args.operands[0].rank()), "layer_norm");
        },
    .samples = {"nn.layer_norm(float32[2,3,7], float32[7], float32[7])",
                "nn.layer_norm(float16[4,5], float16[5], float16[5], epsilon=0.01)",
                "nn.layer_norm(float32[2,3,4], float32[3], float32[3], axis=1)",
                "nn.layer_norm(float64[3,4], float64[4], float64[4], center=False, scale=False)",
                "nn.layer_norm(float32[0,4], float32[4], float32[4])"},
};

}  // namespace tessera::ops
