// SPDX-License-Identifier: Apache-2.0
// Operators that relabel, join, cut and repeat: Shape, Reshape, Transpose, Concat, Split, Expand,
// Tile, ...
#include <algorithm>

#include "import/converters.h"
#include "import/value.h"
#include "ops/inference/infer.h"
#include "ops/records/reshape_codes.h"

namespace tessera::import {
namespace {

std::vector<NodeId> convert_shape(Node& n) {
  const Value x = input(n, 0);
  const std::int64_t rank = x.rank();
  auto bound = [&](std::int64_t v) {
    return std::clamp<std::int64_t>(v < 0 ? v + rank : v, 0, rank);
  };
  const std::int64_t begin = bound(n.int_attr("start", 0)), end = bound(n.int_attr("end", rank));
  return {sizes_of(x, begin, std::max(begin, end))};
}

std::vector<NodeId> convert_size(Node& n) {
  const NodeId x = n.input(0);
  const Dim count = num_elements(n.shape(x));
  if (count.is_unknown()) return {n.call("ndarray_size", {x}, {{"dtype", kInt64}})};
  return {n.reshape(n.sizes_of({count}), Ints{})};
}

// A shape that comes at run time must be the one that the model states for the result.
Ints shape_operand(Node& n, std::size_t i) {
  if (const auto known = n.known_ints(i)) return *known;
  const auto declared = n.declared_shape(0);
  if (!declared) n.need_constant(i, "a shape");
  return *declared;
}

// Sizes that are known by name make 0 and -1 numbers or names, too.
Shape resolved(Node& n, const Shape& from, Shape to, bool allow_zero) {
  std::optional<std::size_t> rest;
  Dim others = 1;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == Dim(0) && !allow_zero) {
      if (i >= from.size())
        n.invalid(Code::kBadDimension, "its shape copies a size that is not there");
      to[i] = from[i];
    }
    if (to[i] == Dim(-1)) {
      if (rest) n.invalid(Code::kBadDimension, "its shape has -1 twice");
      rest = i;
    } else {
      others = others * to[i];
    }
  }
  if (rest) to[*rest] = others == Dim(0) ? Dim::unknown() : floor_div(num_elements(from), others);
  return to;
}

NodeId reshape_to(Node& n, const Shape& wanted, bool allow_zero) {
  for (const Dim& size : wanted) {
    if (size.is_constant() && size.constant() < -1) {
      n.invalid(Code::kBadDimension, fmt::format("its shape has the size {}", size.constant()));
    }
  }
  const NodeId x = n.input(0);
  if (const auto numbers = constant_shape(wanted)) {
    return n.call("reshape", {x}, {{"newshape", *numbers}, {"allowzero", allow_zero}});
  }
  const Shape sizes = resolved(n, n.shape(x), wanted, allow_zero);
  if (has_names(sizes)) return n.reshape_to(x, sizes);
  // The run knows what 0 and -1 stand for; a 0 that stands for itself it would take for a copy.
  if (allow_zero && std::find(wanted.begin(), wanted.end(), Dim(0)) != wanted.end()) {
    n.unsupported("a shape with a 0 for an input whose sizes depend on data");
  }
  return n.call("dyn.reshape", {x, n.sizes_of(wanted)});
}

std::vector<NodeId> convert_reshape(Node& n) {
  const bool allow_zero = n.flag_attr("allowzero", false);
  if (n.opset() < 5) {
    const Ints shape = n.need_ints_attr("shape");
    return {reshape_to(n, Shape(shape.begin(), shape.end()), allow_zero)};
  }
  if (const auto wanted = n.known_sizes(1)) return {reshape_to(n, *wanted, allow_zero)};
  const auto declared = n.declared_shape(0);
  const auto own = constant_shape(n.shape(n.input(0)));
  const bool can_hold = declared && (!own || product(*own) == product(*declared));
  if (can_hold) return {n.reshape(n.input(0), *declared)};
  return {n.call("dyn.reshape", {n.input(0), n.cast(n.input(1), kInt64)})};
}

std::vector<NodeId> convert_flatten(Node& n) {
  const Value x = input(n, 0);
  const std::int64_t rank = x.rank(), axis = n.int_attr("axis", 1);
  const std::int64_t cut = axis == rank ? rank : n.axis(axis, rank);
  const Shape flat = {num_elements(x.dims(0, cut)), num_elements(x.dims(cut, rank))};
  if (has_names(flat)) return {x.reshape_to(flat)};
  return {x.merge(cut, rank).merge(0, cut)};
}

// The axes of Squeeze and Unsqueeze: an attribute until opset 12, an input since.
std::optional<Ints> axes_of(Node& n) {
  if (n.opset() < 13) return n.has_attr("axes") ? std::optional(n.ints_attr("axes")) : std::nullopt;
  return n.has_input(1) ? n.known_ints(1) : std::nullopt;
}

// With axes that come at run time the result is what the model states.
bool has_runtime_axes(Node& n) { return n.opset() >= 13 && n.has_input(1) && !n.known_ints(1); }

std::vector<NodeId> convert_unsqueeze(Node& n) {
  if (has_runtime_axes(n)) return {n.reshape(n.input(0), shape_operand(n, 1))};
  const auto axes = axes_of(n);
  if (!axes) n.invalid(Code::kWrongAttribute, "it needs axes");
  const Shape sizes = n.shape(n.input(0));
  const auto rank = static_cast<std::int64_t>(sizes.size() + axes->size());
  std::vector<bool> fresh(static_cast<std::size_t>(rank), false);
  for (const std::int64_t a : *axes) fresh[static_cast<std::size_t>(n.axis(a, rank))] = true;
  Shape shape;
  auto next = sizes.begin();
  for (const bool f : fresh) {
    if (!f && next == sizes.end()) n.invalid(Code::kWrongAttribute, "its axes repeat");
    shape.push_back(f ? Dim(1) : *next++);
  }
  NodeId x = n.input(0);
  if (constant_shape(shape) || ops::reshape_codes(sizes, shape)) return {n.reshape_to(x, shape)};
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    if (fresh[static_cast<std::size_t>(axis)]) x = n.call("expand_dims", {x}, {{"axis", axis}});
  }
  return {x};
}

std::vector<NodeId> convert_squeeze(Node& n) {
  if (has_runtime_axes(n)) return {n.reshape(n.input(0), shape_operand(n, 1))};
  const auto axes = axes_of(n);
  const relay::AttrValue value = axes ? relay::AttrValue(*axes) : relay::AttrValue();
  return {n.call("squeeze", {n.input(0)}, {{"axis", value}})};
}

std::vector<NodeId> convert_transpose(Node& n) {
  Ints axes = n.ints_attr("perm");
  if (!n.has_attr("perm")) {
    axes = range(0, n.rank(n.input(0)));
    std::reverse(axes.begin(), axes.end());
  }
  return {n.call("transpose", {n.input(0)}, {{"axes", axes}})};
}

// Many parts are put together in groups, whose kernels are small and mostly one and the same.
NodeId concatenated(Node& n, std::vector<NodeId> parts, std::int64_t axis) {
  constexpr std::size_t kLargestGroup = 128;
  while (parts.size() > kLargestGroup) {
    std::vector<NodeId> groups;
    for (std::size_t k = 0; k < parts.size(); k += kLargestGroup) {
      const std::size_t count = std::min(kLargestGroup, parts.size() - k);
      groups.push_back(concatenated(n,
                                    {parts.begin() + static_cast<std::ptrdiff_t>(k),
                                     parts.begin() + static_cast<std::ptrdiff_t>(k + count)},
                                    axis));
    }
    parts = std::move(groups);
  }
  if (parts.size() == 1) return parts[0];
  return n.call("concatenate", {n.tuple(parts)}, {{"axis", axis}});
}

std::vector<NodeId> convert_concat(Node& n) {
  const std::vector<NodeId> inputs = n.inputs();
  const std::int64_t axis = n.opset() < 4 ? n.int_attr("axis", 1) : n.need_int_attr("axis");
  if (inputs.empty()) n.invalid(Code::kWrongArity, "it needs an input");
  return {concatenated(n, inputs, axis)};
}

// Sizes of the parts: given, stated by the model, or as equal as possible.
Ints split_sizes(Node& n, std::int64_t extent, std::size_t axis) {
  if (n.has_attr("split")) return n.ints_attr("split");
  const auto parts = static_cast<std::int64_t>(n.num_outputs());
  if (n.has_input(1)) {
    if (const auto known = n.known_ints(1)) return *known;
    Ints sizes;
    for (std::size_t i = 0; i < n.num_outputs(); ++i) {
      const auto shape = n.declared_shape(i);
      if (!shape || axis >= shape->size()) n.need_constant(1, "a list of sizes");
      sizes.push_back((*shape)[axis]);
    }
    return sizes;
  }
  if (n.int_attr("num_outputs", parts) != parts) {
    n.invalid(Code::kWrongAttribute, "num_outputs is not the number of its outputs");
  }
  const std::int64_t chunk = (extent + parts - 1) / parts;
  Ints sizes(static_cast<std::size_t>(parts), chunk);
  sizes.back() = extent - chunk * (parts - 1);
  return sizes;
}

std::vector<NodeId> convert_split(Node& n) {
  const NodeId x = n.input(0);
  if (n.num_outputs() == 0) n.invalid(Code::kBadOnnxGraph, "it has no outputs");
  const std::int64_t axis = n.axis_attr(0, x);
  const std::int64_t extent = n.size(x, axis);
  const Ints sizes = split_sizes(n, extent, static_cast<std::size_t>(axis));
  std::int64_t rest = extent;
  bool fits = sizes.size() == n.num_outputs();
  for (const std::int64_t size : sizes) {
    fits = fits && size >= 0 && size <= rest;
    if (fits) rest -= size;
  }
  if (!fits || rest != 0) {
    n.invalid(Code::kShapeMismatch,
              fmt::format("its parts do not add up to the {} elements of axis {}", extent, axis));
  }
  if (sizes.size() == 1) return {x};
  Ints bounds;
  std::int64_t at = 0;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) bounds.push_back(at += sizes[i]);
  const NodeId parts = n.call("split", {x}, {{"indices_or_sections", bounds}, {"axis", axis}});
  std::vector<NodeId> outputs;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    outputs.push_back(n.project(parts, static_cast<int>(i)));
  }
  return outputs;
}

// numpy's rule for two shapes of which sizes may be symbolic; `?` where it depends on their values.
Dim broadcast_size(Node& n, const Dim& a, const Dim& b) {
  if (a == Dim(1) || a == b) return b;
  if (b == Dim(1)) return a;
  if (a.is_constant() && b.is_constant()) {
    n.invalid(Code::kShapeMismatch, "its input cannot be broadcast to the shape asked for");
  }
  return Dim::unknown();
}

// A list of sizes with ones in front.
Value with_rank(Node& n, const Value& sizes, std::int64_t rank) {
  if (rank > kMostDimensions) {
    n.invalid(Code::kBadDimension, fmt::format("its shape has {} numbers", rank));
  }
  const std::int64_t missing = rank - sizes.size(0);
  if (missing == 0) return sizes;
  return concat(n, {Value(n, n.ints(Ints(static_cast<std::size_t>(missing), 1))), sizes}, 0);
}

// A shape that comes at run time, by numpy's rule for it and the operand's own.
NodeId expand_by_data(Node& n) {
  const Value x = input(n, 0), wanted = input(n, 1).cast(kInt64);
  const std::int64_t rank = std::max(x.rank(), wanted.size(0));
  const Value given = with_rank(n, wanted, rank), own = with_rank(n, sizes_of(x), rank);
  return n.call("dyn.broadcast_to", {x, where(equal(given, 1.0), own, given)});
}

std::vector<NodeId> convert_expand(Node& n) {
  const NodeId x = n.input(0);
  const auto wanted = n.known_sizes(1);
  if (!wanted) {
    const bool is_stated = n.declared_shape(0) && constant_shape(n.shape(x));
    if (!is_stated) return {expand_by_data(n)};
    return {n.broadcast(x, broadcast_shape(n, n.sizes(x), shape_operand(n, 1)))};
  }
  const Shape& own = n.shape(x);
  Shape shape(std::max(own.size(), wanted->size()), Dim(1));
  for (std::size_t i = 0; i < shape.size(); ++i) {  // from the last dimension on
    const Dim a = i < own.size() ? own[own.size() - 1 - i] : Dim(1);
    const Dim b = i < wanted->size() ? (*wanted)[wanted->size() - 1 - i] : Dim(1);
    shape[shape.size() - 1 - i] = broadcast_size(n, a, b);
  }
  return {has_names(shape) ? n.broadcast_to(x, shape) : expand_by_data(n)};
}

// Repetitions that come at run time follow from the sizes that the model states.
Ints repetitions(Node& n, const Ints& sizes) {
  if (const auto known = n.known_ints(1)) return *known;
  const auto declared = n.declared_shape(0);
  if (!declared || declared->size() != sizes.size() || product(sizes) == 0) {
    n.need_constant(1, "a number of repetitions");
  }
  Ints reps;
  for (std::size_t i = 0; i < sizes.size(); ++i) reps.push_back((*declared)[i] / sizes[i]);
  return reps;
}

// Every dimension gets one of its repetitions before it: [d, e] -> [r, d, s, e].
NodeId tile_by_data(Node& n) {
  const Value x = input(n, 0), reps = input(n, 1).cast(kInt64), own = sizes_of(x);
  Value split = x;
  std::vector<Value> wanted;
  for (std::int64_t d = 0; d < x.rank(); ++d) {
    split = split.expand_dims(2 * d);
    wanted.push_back(reps.slice(0, d, d + 1));
    wanted.push_back(own.slice(0, d, d + 1));
  }
  if (wanted.empty()) return x;
  const NodeId repeated = n.call("dyn.broadcast_to", {split, concat(n, wanted, 0)});
  return n.call("dyn.reshape", {repeated, reps * own});
}

std::vector<NodeId> convert_tile(Node& n) {
  const bool is_known =
      n.known_ints(1) || (n.declared_shape(0) && constant_shape(n.shape(n.input(0))));
  if (!is_known) return {tile_by_data(n)};
  const Ints sizes = n.sizes(n.input(0)), reps = repetitions(n, sizes);
  if (reps.size() != sizes.size()) {
    n.invalid(Code::kShapeMismatch, "it needs one number of repetitions a dimension");
  }
  return {n.call("tile", {n.input(0)}, {{"reps", reps}})};
}

std::vector<NodeId> convert_depth_to_space(Node& n) {
  return {n.call(
      "nn.depth_to_space", {n.input(0)},
      {{"block_size", n.need_int_attr("blocksize")}, {"mode", n.string_attr("mode", "DCR")}})};
}

std::vector<NodeId> convert_space_to_depth(Node& n) {
  const Value x = input(n, 0);
  const std::int64_t block = n.need_int_attr("blocksize");
  if (n.string_attr("mode", "DCR") == "DCR") {
    return {x.apply("nn.space_to_depth", {{"block_size", block}})};
  }
  if (x.rank() != 4 || block < 1 || x.size(2) % block != 0 || x.size(3) % block != 0) {
    n.invalid(Code::kShapeMismatch, "its blocks do not divide its input");
  }
  // (n, c, h, block, w, block), of which the blocks follow the channel.
  const Value apart = x.split(3, x.size(3) / block).split(2, x.size(2) / block);
  return {apart.transpose({0, 1, 3, 5, 2, 4}).merge(1, 4)};
}

constexpr Converter kShapeTable[] = {
    {"Shape", 1, convert_shape},
    {"Size", 1, convert_size},
    {"Reshape", 1, convert_reshape},
    {"Flatten", 1, convert_flatten},
    {"Unsqueeze", 1, convert_unsqueeze},
    {"Squeeze", 1, convert_squeeze},
    {"Transpose", 1, convert_transpose},
    {"Concat", 1, convert_concat},
    {"Split", 2, convert_split},
    {"Expand", 8, convert_expand},
    {"Tile", 6, convert_tile},
    {"DepthToSpace", 1, convert_depth_to_space},
    {"SpaceToDepth", 1, convert_space_to_depth},
};

}  // namespace

extern const std::span<const Converter> shape_converters;
const std::span<const Converter> shape_converters = kShapeTable;

}  // namespace tessera::import
