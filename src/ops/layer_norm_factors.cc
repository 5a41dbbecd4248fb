// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/attrs/norm.h"
#include "ops/normalize.h"

namespace tessera::ops {
namespace {

Result<Type> infer(const InferArgs& args) {
  TESSERA_TRY_VOID(expect_float(args, 0));
  const Type& data = args.operands[0];
  TESSERA_TRY(const std::int64_t last, normal_axis(args, -1, data.rank()));
  Shape shape = data.shape();
  shape[last] = Dim(1);
  const Type one = tensor_type(std::move(shape), accumulator(data.dtype()));
  return tuple_type({one, one});
}

Normalization normalization(const relay::Attrs& attrs, std::size_t rank) {
  return {.over = accepted_axes(Ints{-1}, false, rank),
          .epsilon = relay::read_attrs<LayerNormFactorsAttrs>(attrs).epsilon};
}

std::vector<Tensor> eval(const EvalArgs& args) {
  const std::vector<double> x = values_of<double>(args.operands[0]);
  const auto& types = args.result.fields();
  const auto rows = static_cast<std::size_t>(count_of(static_shape(types[0])));
  const std::size_t columns = rows == 0 ? 0 : x.size() / rows;
  const double epsilon = relay::read_attrs<LayerNormFactorsAttrs>(args.attrs).epsilon;
  std::vector<double> factors(rows), shifts(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const double* const begin = x.data() + row * columns;
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < columns; ++i) mean += begin[i] / static_cast<double>(columns);
    for (std::size_t i = 0; i < columns; ++i) {
      variance += (begin[i] - mean) * (begin[i] - mean) / static_cast<double>(columns);
    }
    factors[row] = 1 / std::sqrt(variance + epsilon);
    shifts[row] = -mean * factors[row];
  }
  return {tensor_of(types[0], factors), tensor_of(types[1], shifts)};
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
    .infer = infer,
    .eval = eval,
    .compute =
        [](const ComputeArgs& args) {
          return compute_norm_factors(args, normalization(args.attrs, args.operands[0].rank()),
                                      "layer_norm_factors");
        },
    .samples = {"nn.layer_norm_factors(float32[2,3,7])",
                "nn.layer_norm_factors(float16[4,70], epsilon=0.01)",
                "nn.layer_norm_factors(float64[5])", "nn.layer_norm_factors(float32[0,4])"},
};

}  // namespace tessera::ops
