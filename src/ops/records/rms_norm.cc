// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/norm.h"
#include "ops/records/normalize.h"

namespace tessera::ops {
namespace {

Normalization normalization_of_rms_norm(const relay::Attrs& attrs, std::size_t rank) {
  const auto p = relay::read_attrs<RmsNormAttrs>(attrs);
  return {.over = accepted_axes(Ints{p.axis}, false, rank),
          .param_axis = front_axis(p.axis, rank),
          .epsilon = p.epsilon,
          .center = false,
          .scale = p.scale,
          .subtracts_mean = false};
}

}  // namespace

constexpr Operator kRmsNorm{
    .name = "nn.rms_norm",
    .doc =
        "y = x / sqrt(mean(x * x) + epsilon) * gamma, over `axis` (Zhang and Sennrich 2019)"
        "   data: T[d...], gamma: T[d[axis]] -> T[d...]",
    .operands = {"data", "gamma"},
    .attrs = relay::attr_schema<RmsNormAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer =
        [](const InferArgs& args) {
          return infer_normalize(args, relay::read_attrs<RmsNormAttrs>(args.attrs).axis);
        },
    .eval =
        [](const EvalArgs& args) {
          return eval_normalize(
              args, normalization_of_rms_norm(args.attrs, args.operands[0].shape.size()));
        },
    .compute =
        [](const ComputeArgs& args) {
          return compute_normalize(
              args, normalization_of_rms_norm(args.attrs, args.operands[0].rank()), "rms_norm");
        },
    .samples = {"nn.rms_norm(float32[2,3,7], float32[7])",
                "nn.rms_norm(float16[4,5], float16[5], epsilon=0.01)",
                "nn.rms_norm(float32[2,3,4], float32[3], axis=1)",
                "nn.rms_norm(float64[3,4], float64[4], scale=False)",
                "nn.rms_norm(float32[0,4], float32[4])"},
};

}  // namespace tessera::ops
