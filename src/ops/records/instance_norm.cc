// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/norm.h"
#include "ops/records/normalize.h"

namespace tessera::ops {
namespace {

// Over all dimensions but the batch and the channels.
Normalization normalization_of_instance_norm(const relay::Attrs& attrs, std::size_t rank) {
  const auto p = relay::read_attrs<InstanceNormAttrs>(attrs);
  const std::int64_t axis = front_axis(p.axis, rank);
  std::vector<bool> over(rank, true);
  over[0] = over[axis] = false;
  return {std::move(over), axis, p.epsilon, p.center, p.scale};
}

}  // namespace

constexpr Operator kInstanceNorm{
    .name = "nn.instance_norm",
    .doc =
        "y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, over all but batch and `axis`"
        "   data: T[n, c, d...], gamma: T[c], beta: T[c] -> T[n, c, d...]",
    .operands = {"data", "gamma", "beta"},
    .attrs = relay::attr_schema<InstanceNormAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer =
        [](const InferArgs& args) {
          return infer_normalize(args, relay::read_attrs<InstanceNormAttrs>(args.attrs).axis);
        },
    .eval =
        [](const EvalArgs& args) {
          return eval_normalize(
              args, normalization_of_instance_norm(args.attrs, args.operands[0].shape.size()));
        },
    .compute =
        [](const ComputeArgs& args) {
          return compute_normalize(
              args, normalization_of_instance_norm(args.attrs, args.operands[0].rank()),
              "instance_norm");
        },
    .onnx = {"InstanceNormalization"},
    .samples = {"nn.instance_norm(float32[2,3,7], float32[3], float32[3])",
                "nn.instance_norm(float16[2,3,2,4], float16[3], float16[3], epsilon=0.01)",
                "nn.instance_norm(float32[2,3,4], float32[4], float32[4], axis=2, scale=False)"},
};

}  // namespace tessera::ops
