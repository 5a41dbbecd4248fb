// SPDX-License-Identifier: Apache-2.0
// Products of matrices, and convolutions.
#include <algorithm>

#include "backends/openvino/converters.h"
#include "backends/openvino/windows.h"
#include "ops/attrs/matmul.h"

namespace tessera::backends::openvino {
namespace {

// OpenVINO leaves the result of an empty sum as it finds it, where what follows is fused.
ValuesOr product(Call& c, bool transpose_a, bool transpose_b) {
  const Shape &a = c.shape(0), &b = c.shape(1);
  const auto terms_of_a = a[a.size() - (transpose_a ? 2 : 1)].as_constant();
  const auto terms_of_b = b[b.size() - (transpose_b ? 1 : 2)].as_constant();
  if (std::max(terms_of_a.value_or(0), terms_of_b.value_or(0)) == 0) {
    return refuse("its sums may be empty");
  }
  return Values{
      c.layer("MatMul", 1, {c.operand(0), c.operand(1)},
              {{"transpose_a", text_of(transpose_a)}, {"transpose_b", text_of(transpose_b)}})};
}

// Weights [a, b, k...] as [groups, a / groups, b, k...].
Expected<Value, Refusal> grouped_weights(Call& c, std::int64_t groups) {
  Shape shape = c.shape(1);
  if (!constant_shape(shape)) return refuse("the weight's sizes are not known");
  shape[0] = Dim(shape[0].constant() / groups);
  shape.insert(shape.begin(), Dim(groups));
  return c.reshaped(1, shape);
}

ValuesOr windowed(Call& c, const ops::ConvAttrs& p, std::string_view plain,
                  std::string_view grouped, bool has_output_padding) {
  const Padding padding = padding_of(p.padding, p.strides.size());
  std::vector<Attribute> attributes = {{"strides", text_of(p.strides)},
                                       {"dilations", text_of(p.dilation)},
                                       {"pads_begin", text_of(padding.begin)},
                                       {"pads_end", text_of(padding.end)},
                                       {"auto_pad", "explicit"}};
  if (has_output_padding) attributes.push_back({"output_padding", text_of(p.output_padding)});
  if (p.groups == 1) return Values{c.layer(plain, 1, {c.operand(0), c.operand(1)}, attributes)};
  TESSERA_TRY(const Value weights, grouped_weights(c, p.groups));
  return Values{c.layer(grouped, 1, {c.operand(0), weights}, attributes)};
}

}  // namespace

ValuesOr dense(Call& c) { return product(c, false, true); }

ValuesOr matmul(Call& c) {
  const auto p = c.attrs<ops::MatmulAttrs>();
  if (c.shape(0).size() < 2 || c.shape(1).size() < 2) return refuse("an operand is no matrix");
  return product(c, p.transpose_a, p.transpose_b);
}

ValuesOr batch_matmul(Call& c) {
  const auto p = c.attrs<ops::BatchMatmulAttrs>();
  return product(c, p.transpose_a, p.transpose_b);
}

ValuesOr convolution_of(Call& c, const ops::ConvAttrs& p) {
  const std::size_t spatial = p.strides.size();
  if (auto why = layout_refusal(p.data_layout, p.out_layout, spatial)) return Unexpected{*why};
  if (p.kernel_layout != kernel_layout(spatial)) {
    return refuse("the layout {} of weights is not {}", p.kernel_layout, kernel_layout(spatial));
  }
  return windowed(c, p, "Convolution", "GroupConvolution", false);
}

ValuesOr transposed_convolution_of(Call& c, const ops::ConvAttrs& p) {
  const std::size_t spatial = p.strides.size();
  if (auto why = layout_refusal(p.data_layout, p.out_layout, spatial)) return Unexpected{*why};
  // Both orders of I and O mean the same weights: see ConvAttrs.
  std::string layout = p.kernel_layout;
  if (layout.starts_with("IO")) std::swap(layout[0], layout[1]);
  if (layout != kernel_layout(spatial)) {
    return refuse("the layout {} of weights is not {}", p.kernel_layout, kernel_layout(spatial));
  }
  // An image without elements gives what padding and the weights' reach leave of one; OpenVINO
  // counts that as if it had an element.
  const Shape& image = c.shape(0);
  if (!std::all_of(image.begin() + 2, image.end(), [](const Dim& d) { return d.is_constant(); })) {
    return refuse("its image's size is open and may be empty");
  }
  return windowed(c, p, "ConvolutionBackpropData", "GroupConvolutionBackpropData", true);
}

}  // namespace tessera::backends::openvino
