// SPDX-License-Identifier: Apache-2.0
// Convolutions and pooling: batch and channels come first.
#include <algorithm>

#include "backends/tensorrt/converters.h"
#include "ops/records/layout.h"

namespace tessera::backends::tensorrt {
namespace {

constexpr std::string_view kDataLayouts[] = {"NCW", "NCHW", "NCDHW"};
constexpr std::string_view kKernelLayouts[] = {"OIW", "OIHW", "OIDHW"};

std::optional<Refusal> layout_refusal(std::string_view layout, std::string_view out_layout,
                                      std::size_t spatial) {
  const std::string_view wanted = kDataLayouts[spatial - 1];
  if (layout == wanted && (out_layout.empty() || out_layout == wanted)) return std::nullopt;
  return Refusal{fmt::format("the layout {}{}{} is not {}", layout,
                             out_layout.empty() ? "" : " to ", out_layout, wanted)};
}

Attributes attributes_of(const ops::Window& window) {
  Ints sizes, strides, dilation, begin, end;
  for (const ops::WindowAxis& axis : window) {
    sizes.push_back(axis.size);
    strides.push_back(axis.stride);
    dilation.push_back(axis.dilation);
    begin.push_back(axis.pad_begin);
    end.push_back(axis.pad_end);
  }
  return {{"window", texts_of(sizes)},
          {"strides", texts_of(strides)},
          {"dilation", texts_of(dilation)},
          {"padding_begin", texts_of(begin)},
          {"padding_end", texts_of(end)}};
}

// TensorRT has windows over two and three dimensions: one of one is one of two, of which the second
// has one element.
ValueOr windowed(Call& c, std::string_view kind, ops::Window window, std::int64_t groups) {
  Ints data = c.shape(0), result = c.result_shape();
  const std::int64_t maps = result[1];
  const bool is_row = window.size() == 1;
  if (is_row) {
    window.emplace_back();
    data.push_back(1);
    result.push_back(1);
  }
  Attributes attributes = attributes_of(window);
  attributes["groups"] = text_of(groups);
  attributes["maps"] = text_of(maps);
  const Value image = is_row ? c.reshaped(c.operand(0), data) : c.operand(0);
  const Value value = c.layer(kind, {image, c.operand(1)}, std::move(attributes), result);
  return is_row ? c.reshaped(value, c.result_shape()) : value;
}

ops::Window window_of(const Call& c, const ops::ConvAttrs& p) {
  const Ints weight = c.shape(1);
  return ops::known_window(Ints(weight.begin() + 2, weight.end()), p.strides, p.dilation,
                           p.padding);
}

// Padding at the end as far as the windows of the result see: with `ceil_mode` that may be more
// than the attribute says.
std::optional<Refusal> see_all(const Call& c, bool counts, ops::Window& window) {
  for (std::size_t i = 0; i < window.size(); ++i) {
    ops::WindowAxis& axis = window[i];
    const std::int64_t reach = (c.result_shape()[i + 2] - 1) * axis.stride + axis.size;
    const std::int64_t needed = reach - c.shape(0)[i + 2] - axis.pad_begin;
    if (needed > axis.pad_end && counts) {
      return Refusal{"padding counts, and `ceil_mode` adds what does not"};
    }
    axis.pad_end = std::max(axis.pad_end, needed);
    if (std::max(axis.pad_begin, axis.pad_end) >= axis.size) {
      return Refusal{"a window may see padding alone"};
    }
  }
  return std::nullopt;
}

}  // namespace

ValueOr convolution_of(Call& c, const ops::ConvAttrs& p) {
  const std::size_t spatial = p.strides.size();
  if (auto why = layout_refusal(p.data_layout, p.out_layout, spatial)) return Unexpected{*why};
  if (p.kernel_layout != kKernelLayouts[spatial - 1]) {
    return refuse("the layout {} of weights is not {}", p.kernel_layout,
                  kKernelLayouts[spatial - 1]);
  }
  return windowed(c, "convolution", window_of(c, p), p.groups);
}

ValueOr transposed_convolution_of(Call& c, const ops::ConvAttrs& p) {
  const std::size_t spatial = p.strides.size();
  if (auto why = layout_refusal(p.data_layout, p.out_layout, spatial)) return Unexpected{*why};
  // Both orders of I and O mean the same weights: see ConvAttrs.
  std::string layout = p.kernel_layout;
  if (layout.starts_with("IO")) std::swap(layout[0], layout[1]);
  if (layout != kKernelLayouts[spatial - 1]) {
    return refuse("the layout {} of weights is not {}", p.kernel_layout,
                  kKernelLayouts[spatial - 1]);
  }
  ops::Window window = window_of(c, p);
  for (std::size_t i = 0; i < spatial; ++i) {
    if (window[i].dilation != 1) return refuse("the window is dilated");
    window[i].pad_end -= p.output_padding[i];  // TensorRT has no word for the latter
    if (window[i].pad_end < 0) return refuse("`output_padding` is more than the padding");
  }
  return windowed(c, "deconvolution", std::move(window), p.groups);
}

ValueOr pool_of(Call& c, const ops::PoolAttrs& p) {
  if (auto why = layout_refusal(p.layout, p.out_layout, p.pool_size.size())) {
    return Unexpected{*why};
  }
  ops::Window window = ops::known_window(p.pool_size, p.strides, p.dilation, p.padding);
  const auto is_dilated = [](const ops::WindowAxis& axis) { return axis.dilation != 1; };
  if (std::any_of(window.begin(), window.end(), is_dilated)) return refuse("the window is dilated");
  if (auto why = see_all(c, p.count_include_pad, window)) return Unexpected{*why};
  Attributes attributes = attributes_of(window);
  attributes["type"] = {std::string(c.type())};
  attributes["counts_padding"] = {p.count_include_pad ? "1" : "0"};
  return c.layer("pooling", {c.operand(0)}, std::move(attributes));
}

ValueOr global_pool(Call& c) {
  const auto p = c.attrs<ops::GlobalPool2DAttrs>();
  if (auto why = layout_refusal(p.layout, p.out_layout, 2)) return Unexpected{*why};
  return c.layer("reduce", {c.operand(0)},
                 {{"type", {std::string(c.type())}}, {"axes", texts_of({2, 3})}, {"keeps", {"1"}}});
}

}  // namespace tessera::backends::tensorrt
