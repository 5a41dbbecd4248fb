// SPDX-License-Identifier: Apache-2.0
// Convolutions over any number of spatial dimensions, in any order of dimensions, grouped.
//   y[n, o, p...] = sum over i, k... of x[n, group(o) * I + i, p * stride + k * dilation - pad ...]
//   * w[o, i, k...]
#pragma once

#include "ops/attrs/conv.h"
#include "ops/layout.h"

namespace tessera::ops {

// Data and weight may differ in data type; the result has out_dtype, or else that of the data.
Result<Type> infer_conv(const InferArgs& args, const ConvAttrs& p);
std::vector<Tensor> eval_conv(const EvalArgs& args, const ConvAttrs& p);
Definitions compute_conv(const ComputeArgs& args, const ConvAttrs& p);
double conv_flops(const CostArgs& args, const ConvAttrs& p);

Result<Type> infer_conv_transpose(const InferArgs& args, const ConvAttrs& p);
std::vector<Tensor> eval_conv_transpose(const EvalArgs& args, const ConvAttrs& p);
Definitions compute_conv_transpose(const ComputeArgs& args, const ConvAttrs& p);
double conv_transpose_flops(const CostArgs& args, const ConvAttrs& p);

// The stored order of the result.
inline const std::string& result_layout(const ConvAttrs& p) {
  return p.out_layout.empty() ? p.data_layout : p.out_layout;
}

// The record of a convolution, given its texts.
template <class A>
constexpr Operator conv_operator(std::string_view name, std::string_view doc, Samples samples) {
  return {
      .name = name,
      .doc = doc,
      .operands = {"data", "weight"},
      .attrs = relay::attr_schema<A>,
      .pattern = OpPattern::kOutFusable,
      .infer = [](const InferArgs& a) { return infer_conv(a, relay::read_attrs<A>(a.attrs)); },
      .eval = [](const EvalArgs& a) { return eval_conv(a, relay::read_attrs<A>(a.attrs)); },
      .compute =
          [](const ComputeArgs& a) { return compute_conv(a, relay::read_attrs<A>(a.attrs)); },
      .flops = [](const CostArgs& a) { return conv_flops(a, relay::read_attrs<A>(a.attrs)); },
      .samples = samples,
  };
}

// The same for its gradient by the data.
template <class A>
constexpr Operator conv_transpose_operator(std::string_view name, std::string_view doc,
                                           Samples samples) {
  return {
      .name = name,
      .doc = doc,
      .operands = {"data", "weight"},
      .attrs = relay::attr_schema<A>,
      .pattern = OpPattern::kOutFusable,
      .infer =
          [](const InferArgs& a) { return infer_conv_transpose(a, relay::read_attrs<A>(a.attrs)); },
      .eval =
          [](const EvalArgs& a) { return eval_conv_transpose(a, relay::read_attrs<A>(a.attrs)); },
      .compute =
          [](const ComputeArgs& a) {
            return compute_conv_transpose(a, relay::read_attrs<A>(a.attrs));
          },
      .flops =
          [](const CostArgs& a) { return conv_transpose_flops(a, relay::read_attrs<A>(a.attrs)); },
      .samples = samples,
  };
}

// x with zeros around the spatial dimensions; x itself where there are none to add.
TensorExpr zero_padded(const TensorExpr& x, const Places& places, const Window& window);

}  // namespace tessera::ops
