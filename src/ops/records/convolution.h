// SPDX-License-Identifier: Apache-2.0
// Convolutions over any number of spatial dimensions, in any order of dimensions, grouped.
//   y[n, o, p...] = sum over i, k... of x[n, group(o) * I + i, p * stride + k * dilation - pad ...]
//   * w[o, i, k...]
#pragma once

#include "ops/attrs/conv.h"
#include "ops/records/layout.h"

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

// Layouts of the gradient of a convolution by its weight. Relay writes them in two ways: they are
// those of the convolution, or else `kernel_layout` is the data's, `data_layout` the gradient's and
// `out_layout` the result's; without that one, the result is laid out as the data.
struct GradientLayouts {
  std::string grad, data, weight;
};
GradientLayouts gradient_layouts(const ConvAttrs& p);

// That of a transposed convolution with the letters O for the data's channels and I for the
// result's. Relay writes so, but with the I before the O ("IOHW", "IHWO") they mean what they
// say.
std::string transposed_kernel_layout(std::string layout);

// The record of a convolution, or of its gradient by the data, given its texts.
template <class A, auto kInfer, auto kEval, auto kCompute, auto kFlops>
constexpr Operator conv_record(std::string_view name, std::string_view doc, Samples samples) {
  return {
      .name = name,
      .doc = doc,
      .operands = {"data", "weight"},
      .attrs = relay::attr_schema<A>,
      .pattern = OpPattern::kOutFusable,
      .infer = [](const InferArgs& a) { return kInfer(a, relay::read_attrs<A>(a.attrs)); },
      .eval = [](const EvalArgs& a) { return kEval(a, relay::read_attrs<A>(a.attrs)); },
      .compute = [](const ComputeArgs& a) { return kCompute(a, relay::read_attrs<A>(a.attrs)); },
      .flops = [](const CostArgs& a) { return kFlops(a, relay::read_attrs<A>(a.attrs)); },
      .samples = samples,
  };
}
template <class A>
constexpr Operator conv_operator(std::string_view name, std::string_view doc, Samples samples) {
  return conv_record<A, infer_conv, eval_conv, compute_conv, conv_flops>(name, doc, samples);
}
template <class A>
constexpr Operator conv_transpose_operator(std::string_view name, std::string_view doc,
                                           Samples samples) {
  return conv_record<A, infer_conv_transpose, eval_conv_transpose, compute_conv_transpose,
                     conv_transpose_flops>(name, doc, samples);
}

// x with zeros around the spatial dimensions; x itself where there are none to add.
TensorExpr zero_padded(const TensorExpr& x, const Places& places, const Window& window);

}  // namespace tessera::ops
