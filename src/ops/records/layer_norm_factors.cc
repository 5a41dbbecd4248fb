// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/norm.h"
#include "ops/records/normalize.h"

namespace tessera::ops {
namespace {

Result<Type> infer_layer_norm_factors(const InferArgs& args) {
  TESSERA_TRY_VOID(expect_float(args, 0));
  const Type& data = args.operands[0];
  TESSERA_TRY(const std::int64_t last, normal_axis(args, -1, data.rank()));
  Shape shape = data.shape();
  shape[last] = Dim(1);
  const Type one = tensor_type(std::move(shape), accumulator(data.dtype()));
  return tuple_type({one, one});
}

Normalization normalization_of_layer_norm_factors(const relay::Attrs& attrs, std::size_t rank) {
  return {.over = accepted_axes(Ints{-1}, false, rank),
          .epsilon = relay::read_attrs<LayerNormFactorsAttrs>(attrs).epsilon};
}

}  // namespace

constexpr Operator kLayerNormFactors{
    .name = "nn.layer_norm_factors",
    .doc =
        "(1 / sqrt(variance + epsilon), -mean / sqrt(variance + epsilon)) of each row: with them "
        "nn.layer_norm is (x * factor + shift) * gamma + beta   data: T[d..., n] -> two of "
        "float32[d..., 1], float64 for such data",
    .operands = {"data"},
    .attrs = relay::attr_schema<LayerNormFactorsAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_layer_norm_factors,
    .eval =
        [](const EvalArgs& args) {
          return eval_norm_factors(
              args, normalization_of_layer_norm_factors(args.attrs, args.operands[0].shape.size()));
        },
    .compute =
        [](const ComputeArgs& args) {
          return compute_norm_factors(
              args, normalization_of_layer_norm_factors(args.attrs, args.operands[0].rank()),
              "layer_norm_factors");
        },
    .samples = {"nn.layer_norm_factors(float32[2,3,7])",
                "nn.layer_norm_factors(float16[4,70], epsilon=0.01)",
                "nn.layer_norm_factors(float64[5])", "nn.layer_norm_factors(float32[0,4])",
                "nn.layer_norm_factors(float32[2,0])"},
};

}  // namespace tessera::ops
