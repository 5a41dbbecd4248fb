// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/attrs/shape.h"
#include "ops/records/convolution.h"
#include "passes/quantized_values.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;
using Ints = std::vector<std::int64_t>;

struct Convolution {
  ops::Conv2DAttrs attrs;
  Quantized x, weight;
  bool is_float = false;

  bool pads() const {
    return std::any_of(attrs.padding.begin(), attrs.padding.end(),
                       [](std::int64_t width) { return width != 0; });
  }
};

// The weight's axes: all but the output channels'.
Ints summed_axes(const Convolution& p) {
  Ints axes;
  for (std::size_t i = 0; i < p.attrs.kernel_layout.size(); ++i) {
    if (p.attrs.kernel_layout[i] != 'O') axes.push_back(static_cast<std::int64_t>(i));
  }
  return axes;
}

std::optional<Convolution> described(const QuantizedValues& values, NodeId id) {
  const Function& f = values.function();
  if (!relay::is_call_of(f, id, "nn.conv2d") || f[id].region != Function::kBody)
    return std::nullopt;
  const DType wide = f.type(id).dtype();
  if (wide != kInt32 && wide != kFloat32) return std::nullopt;
  const auto x = values.find(f.operands(id)[0], wide);
  const auto weight = values.find(f.operands(id)[1], wide);
  if (!x || !weight || !values.suits_integers(*x, *weight)) return std::nullopt;
  const Convolution p{relay::read_attrs<ops::Conv2DAttrs>(f.as<relay::OpCall>(id)->attrs), *x,
                      *weight, wide == kFloat32};
  if (p.attrs.groups != 1) return std::nullopt;
  const std::size_t channels = p.attrs.kernel_layout.find('O');
  if (p.is_float && !values.has_scale_along(p.weight, channels)) return std::nullopt;
  Dim terms = 1;
  for (const std::int64_t axis : summed_axes(p)) {
    const Dim& size = f.type(weight->x).shape()[static_cast<std::size_t>(axis)];
    const bool is_channels = p.attrs.kernel_layout[static_cast<std::size_t>(axis)] == 'I';
    // pad-channels makes words of 32 bits of them.
    terms = terms * (is_channels && size.is_constant() ? Dim((size.constant() + 3) / 4 * 4) : size);
  }
  return fits_int32(terms) ? std::optional(p) : std::nullopt;
}

// The image with its zero point around it, as wide as the call has zeros.
NodeId padded(Copier& c, const QuantizedValues& values, const Convolution& p) {
  const ops::Window window =
      ops::known_window({1, 1}, p.attrs.strides, p.attrs.dilation, p.attrs.padding);
  const ops::Places places = ops::known_places(p.attrs.data_layout, "NC", window.size());
  ops::PadAttrs attrs;
  attrs.pad_width.assign(p.attrs.data_layout.size(), {0, 0});
  for (std::size_t s = 0; s < window.size(); ++s) {
    attrs.pad_width[places.spatial[s]] = {window[s].pad_begin, window[s].pad_end};
  }
  const NodeId zero = values.cast(c, values.flat(c, p.x.zero), kInt32);
  return values.call(c, "nn.pad", {c.map(p.x.x), zero}, relay::write_attrs(attrs));
}

// A vector of output channels, as it is added to the result; a scalar stays.
NodeId along_channels(Copier& c, const QuantizedValues& values, const Convolution& p,
                      NodeId vector) {
  const std::string& layout = ops::result_layout(p.attrs);
  Ints shape(layout.size() - layout.find('C'), 1);
  shape[0] = -1;
  return values.call(c, "reshape", {vector}, {{"newshape", shape}});
}

}  // namespace

std::optional<NodeId> integer_convolution(Copier& c, const QuantizedValues& values, NodeId id) {
  const auto p = described(values, id);
  if (!p) return std::nullopt;
  const bool is_shifted = values.has_zero_point(p->x), pads = is_shifted && p->pads();
  const NodeId image = pads ? padded(c, values, *p) : c.map(p->x.x);
  const NodeId weight = values.stored(c, p->weight);
  const Function& f = values.function();
  relay::Attrs attrs = f.as<relay::OpCall>(id)->attrs;
  attrs.set("out_dtype", kInt32);
  if (pads) attrs.set("padding", Ints{0, 0, 0, 0});
  NodeId sums = values.call(c, "nn.conv2d", {image, weight}, std::move(attrs));
  if (is_shifted) {
    const NodeId offset = values.offset(c, p->x, weight, summed_axes(*p));
    sums = values.call(c, "subtract", {sums, along_channels(c, values, *p, offset)});
  }
  if (!p->is_float) return sums;
  NodeId scale = values.scale(c, p->x, p->weight);
  if (!has_one_element(f.type(p->weight.scale))) scale = along_channels(c, values, *p, scale);
  return values.call(c, "multiply", {values.cast(c, sums, kFloat32), scale});
}

}  // namespace tessera::passes
