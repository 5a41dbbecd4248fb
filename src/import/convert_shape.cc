// SPDX-License-Identifier: Apache-2.0
// Operators that move or relabel data: Shape, Reshape, Transpose, Concat, Split, Expand, Tile, Pad, ...
#include <algorithm>

#include "import/converters.h"

namespace tessera::import {
namespace {

using Ints = std::vector<std::int64_t>;

std::vector<NodeId> convert_shape(Node& n) {
  const Ints sizes = n.sizes(n.input(0));
  const auto rank = static_cast<std::int64_t>(sizes.size());
  auto bound = [&](std::int64_t v) { return std::clamp<std::int64_t>(v < 0 ? v + rank : v, 0, rank); };
  const std::int64_t begin = bound(n.int_attr("start", 0)), end = bound(n.int_attr("end", rank));
  return {n.ints(begin < end ? Ints(sizes.begin() + begin, sizes.begin() + end) : Ints{})};
}

std::vector<NodeId> convert_size(Node& n) {
  std::int64_t count = 1;
  for (const std::int64_t size : n.sizes(n.input(0))) count *= size;
  return {n.constant(Tensor::scalar(count, kInt64))};
}

std::vector<NodeId> convert_reshape(Node& n) {
  const Ints shape = n.need_ints(1, "a shape");
  return {n.call("reshape", {n.input(0)},
                 {{"newshape", shape}, {"allowzero", n.int_attr("allowzero", 0) != 0}})};
}

std::vector<NodeId> convert_flatten(Node& n) {
  const Ints sizes = n.sizes(n.input(0));
  const auto rank = static_cast<std::int64_t>(sizes.size());
  std::int64_t axis = n.int_attr("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) n.invalid(Code::kWrongAttribute, "its axis lies outside of the input");
  std::int64_t rows = 1, columns = 1;
  for (std::int64_t i = 0; i < rank; ++i) (i < axis ? rows : columns) *= sizes[static_cast<std::size_t>(i)];
  return {n.reshape(n.input(0), {rows, columns})};
}

// The axes of Squeeze and Unsqueeze: an attribute until opset 12, an input since.
std::optional<Ints> axes_of(Node& n) {
  if (n.opset() < 13) return n.has_attr("axes") ? std::optional(n.ints_attr("axes")) : std::nullopt;
  return n.has_input(1) ? std::optional(n.need_ints(1, "a list of axes")) : std::nullopt;
}

std::vector<NodeId> convert_unsqueeze(Node& n) {
  const auto axes = axes_of(n);
  if (!axes) n.invalid(Code::kWrongAttribute, "it needs axes");
  const Ints sizes = n.sizes(n.input(0));
  const auto rank = static_cast<std::int64_t>(sizes.size() + axes->size());
  std::vector<bool> fresh(static_cast<std::size_t>(rank), false);
  for (const std::int64_t a : *axes) fresh[static_cast<std::size_t>(n.axis(a, rank))] = true;
  Ints shape;
  auto next = sizes.begin();
  for (const bool f : fresh) {
    if (!f && next == sizes.end()) n.invalid(Code::kWrongAttribute, "its axes repeat");
    shape.push_back(f ? 1 : *next++);
  }
  return {n.reshape(n.input(0), shape)};
}

std::vector<NodeId> convert_squeeze(Node& n) {
  const NodeId x = n.input(0);
  const auto axes = axes_of(n);
  const relay::AttrValue value = axes ? relay::AttrValue(*axes) : relay::AttrValue();
  return {n.call("squeeze", {x}, {{"axis", value}})};
}

std::vector<NodeId> convert_transpose(Node& n) {
  Ints axes = n.ints_attr("perm");
  if (!n.has_attr("perm")) {
    for (std::int64_t i = n.rank(n.input(0)); i-- > 0;) axes.push_back(i);
  }
  return {n.transpose(n.input(0), axes)};
}

std::vector<NodeId> convert_concat(Node& n) {
  const std::vector<NodeId> inputs = n.inputs();
  if (inputs.size() == 1) return inputs;
  return {n.call("concatenate", {n.tuple(inputs)}, {{"axis", n.int_attr("axis", 1)}})};
}

// Sizes of the parts: given, or as equal as possible.
Ints split_sizes(Node& n, std::int64_t extent) {
  if (n.has_attr("split")) return n.ints_attr("split");
  if (n.has_input(1)) return n.need_ints(1, "a list of sizes");
  const auto parts = static_cast<std::int64_t>(n.num_outputs());
  const std::int64_t chunk = (extent + parts - 1) / parts;
  Ints sizes(static_cast<std::size_t>(parts), chunk);
  sizes.back() = extent - chunk * (parts - 1);
  return sizes;
}

std::vector<NodeId> convert_split(Node& n) {
  const NodeId x = n.input(0);
  const std::int64_t axis = n.axis(n.int_attr("axis", 0), n.rank(x));
  const Ints sizes = split_sizes(n, n.sizes(x)[static_cast<std::size_t>(axis)]);
  if (sizes.size() == 1) return {x};
  Ints bounds;
  std::int64_t at = 0;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) bounds.push_back(at += sizes[i]);
  const NodeId parts = n.call("split", {x}, {{"indices_or_sections", bounds}, {"axis", axis}});
  std::vector<NodeId> outputs;
  for (std::size_t i = 0; i < sizes.size(); ++i) outputs.push_back(n.project(parts, static_cast<int>(i)));
  return outputs;
}

// The shape that numpy gives two shapes together.
Ints broadcast(Node& n, const Ints& a, const Ints& b) {
  Ints out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      n.invalid(Code::kShapeMismatch, "its input cannot be broadcast to the shape asked for");
    }
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

std::vector<NodeId> convert_expand(Node& n) {
  const Ints sizes = n.sizes(n.input(0));
  const Ints shape = broadcast(n, sizes, n.need_ints(1, "a shape"));
  if (shape == sizes) return {n.input(0)};
  return {n.call("broadcast_to", {n.input(0)}, {{"shape", shape}})};
}

std::vector<NodeId> convert_tile(Node& n) {
  return {n.call("tile", {n.input(0)}, {{"reps", n.need_ints(1, "a number of repetitions")}})};
}

std::vector<NodeId> pad(Node& n, const Ints& pads, const Ints& axes, double value) {
  const NodeId x = n.input(0);
  const auto rank = static_cast<std::size_t>(n.rank(x));
  if (pads.size() != 2 * axes.size()) n.invalid(Code::kWrongAttribute, "it needs two pads an axis");
  relay::AttrArray width(rank, relay::AttrArray{0, 0});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(n.axis(axes[i], static_cast<std::int64_t>(rank)));
    width[axis] = relay::AttrArray{pads[i], pads[i + axes.size()]};
  }
  const std::string mode = n.string_attr("mode", "constant");
  return {n.call("nn.pad", {x, n.scalar(value, n.dtype(x))}, {{"pad_width", width}, {"pad_mode", mode}})};
}

Ints all_axes(std::int64_t rank) {
  Ints axes;
  for (std::int64_t i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

std::vector<NodeId> convert_pad_attrs(Node& n) {
  return pad(n, n.ints_attr("pads"), all_axes(n.rank(n.input(0))), n.float_attr("value", 0));
}

std::vector<NodeId> convert_pad(Node& n) {
  const double value = n.has_input(2) ? element_as_double(n.need_constant(2, "a pad value"), 0) : 0;
  const Ints axes = n.has_input(3) ? n.need_ints(3, "a list of axes") : all_axes(n.rank(n.input(0)));
  return pad(n, n.need_ints(1, "a list of pads"), axes, value);
}

std::vector<NodeId> convert_depth_to_space(Node& n) {
  return {n.call("nn.depth_to_space", {n.input(0)},
                 {{"block_size", n.int_attr("blocksize", 1)}, {"mode", n.string_attr("mode", "DCR")}})};
}

std::vector<NodeId> convert_space_to_depth(Node& n) {
  return {n.call("nn.space_to_depth", {n.input(0)}, {{"block_size", n.int_attr("blocksize", 1)}})};
}

constexpr Converter kTable[] = {
    {"Shape", 1, convert_shape},
    {"Size", 1, convert_size},
    {"Reshape", 5, convert_reshape},
    {"Flatten", 1, convert_flatten},
    {"Unsqueeze", 1, convert_unsqueeze},
    {"Squeeze", 1, convert_squeeze},
    {"Transpose", 1, convert_transpose},
    {"Concat", 4, convert_concat},
    {"Split", 2, convert_split},
    {"Expand", 8, convert_expand},
    {"Tile", 6, convert_tile},
    {"Pad", 2, convert_pad_attrs},
    {"Pad", 11, convert_pad},
    {"DepthToSpace", 1, convert_depth_to_space},
    {"SpaceToDepth", 1, convert_space_to_depth},
};

}  // namespace

extern const std::span<const Converter> shape_converters;
const std::span<const Converter> shape_converters = kTable;

}  // namespace tessera::import
