// SPDX-License-Identifier: Apache-2.0
// Operators that move elements without looking at them.
#include <algorithm>
#include <numeric>
#include <optional>

#include "backends/openvino/converters.h"
#include "ops/attrs/image.h"
#include "ops/attrs/index.h"
#include "ops/attrs/shape.h"

namespace tessera::backends::openvino {
namespace {

Values concatenated(Call& c, const Values& parts, std::int64_t axis) {
  return {c.layer("Concat", 1, parts, {{"axis", std::to_string(axis)}})};
}

ValuesOr rearranged(Call& c, std::string_view operation, std::string_view layout,
                    std::int64_t block, std::string mode) {
  if (layout != "NCHW") return refuse("the layout {} is not NCHW", layout);
  return Values{c.layer(operation, 1, {c.operand(0)},
                        {{"block_size", std::to_string(block)}, {"mode", std::move(mode)}})};
}

// The word of ours that the operator's is.
Expected<std::string, Refusal> word_of(std::string_view given,
                                       std::initializer_list<std::string_view> known) {
  const auto found = std::find(known.begin(), known.end(), given);
  if (found == known.end()) return refuse("the mode {} has no counterpart", given);
  return std::string(*found);
}

// The places of a slice that counts from the front, where they are known.
std::optional<Ints> places_of(std::int64_t begin, std::int64_t end, std::int64_t step,
                              const Dim& size) {
  if (begin < 0 || end < 0 || step < 1 || !size.is_constant()) return std::nullopt;
  Ints places;
  for (; begin < std::min(end, size.constant()); begin += step) places.push_back(begin);
  return places;
}

// Constant indices as they are meant: bounded, or counted from the end.
Tensor settled(const Tensor& indices, std::int64_t size, bool wraps) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < indices.num_elements(); ++i) {
    const std::int64_t at = element_as_int(indices, i);
    places.push_back(wraps ? (at % size + size) % size : std::clamp<std::int64_t>(at, 0, size - 1));
  }
  return tensor_from_ints(indices.shape, kInt32, places);
}

}  // namespace

ValuesOr reshape(Call& c) {
  TESSERA_TRY(const Value value, c.reshaped(0, c.result().shape()));
  return Values{value};
}

ValuesOr transpose(Call& c) {
  const std::size_t rank = c.shape(0).size();
  Ints axes(rank);
  std::iota(axes.rbegin(), axes.rend(), 0);
  if (const auto given = c.attrs<ops::TransposeAttrs>().axes) axes = *given;
  for (std::int64_t& axis : axes) axis = from_front(axis, rank);
  return Values{c.layer("Transpose", 1, {c.operand(0), c.ints(axes)})};
}

ValuesOr concatenate(Call& c) {
  const std::size_t rank = c.result().rank();
  return concatenated(c, c.fields(0), from_front(c.attrs<ops::ConcatenateAttrs>().axis, rank));
}

ValuesOr stack(Call& c) {
  const std::int64_t axis = from_front(c.attrs<ops::StackAttrs>().axis, c.result().rank());
  Values parts;
  for (const Value field : c.fields(0)) {
    parts.push_back(c.layer("Unsqueeze", 1, {field, c.ints({axis})}));
  }
  return concatenated(c, parts, axis);
}

ValuesOr split(Call& c) {
  const std::size_t rank = c.shape(0).size();
  const std::int64_t axis = from_front(c.attrs<ops::SplitAttrs>().axis, rank);
  Ints lengths;
  for (const Type& part : c.result().fields()) {
    const Dim& length = part.shape()[static_cast<std::size_t>(axis)];
    if (!length.is_constant()) return refuse("the length of a part is not known");
    lengths.push_back(length.constant());
  }
  const auto count = static_cast<std::uint32_t>(lengths.size());
  return c.layers("VariadicSplit", 1, {c.operand(0), c.integer(axis), c.ints(lengths)}, {}, count);
}

ValuesOr strided_slice(Call& c) {
  const auto p = c.attrs<ops::StridedSliceAttrs>();
  if (!p.begin || !p.end) return refuse("places that are not known");
  const std::size_t count = p.begin->size();
  Ints axes(count), ends = *p.end, steps = p.strides.value_or(Ints());
  std::iota(axes.begin(), axes.end(), 0);
  if (p.axes) axes = *p.axes;
  steps.resize(count, 1);
  if (ends.size() != count || axes.size() != count) return refuse("lists of different lengths");
  if (p.slice_mode == "size") {
    for (std::size_t i = 0; i < count; ++i) {
      if ((*p.begin)[i] < 0) return refuse("places from the end in mode \"size\"");
      ends[i] = ends[i] < 0 ? ops::kFarAway : (*p.begin)[i] + ends[i];
      steps[i] = 1;
    }
  }
  for (std::int64_t& axis : axes) axis = from_front(axis, c.shape(0).size());
  if (c.is_unfused() && count == 1) {
    const auto at = static_cast<std::size_t>(axes[0]);
    if (const auto places = places_of((*p.begin)[0], ends[0], steps[0], c.shape(0)[at])) {
      return Values{c.layer("Gather", 8, {c.operand(0), c.ints(*places), c.integer(axes[0])},
                            {{"batch_dims", "0"}})};
    }
  }
  return Values{c.layer(
      "Slice", 8, {c.operand(0), c.ints(*p.begin), c.ints(ends), c.ints(steps), c.ints(axes)})};
}

ValuesOr broadcast_to(Call& c) {
  const auto shape = constant_shape(c.result().shape());
  if (!shape) return refuse("the result's sizes are not known");
  return Values{c.layer("Broadcast", 3, {c.operand(0), c.ints(*shape)}, {{"mode", "numpy"}})};
}

ValuesOr tile(Call& c) {
  return Values{c.layer("Tile", 1, {c.operand(0), c.ints(c.attrs<ops::TileAttrs>().reps)})};
}

ValuesOr take(Call& c) {
  const auto p = c.attrs<ops::TakeAttrs>();
  if (!p.axis || p.batch_dims != 0)
    return refuse("elements of the flattened tensor, or of batches");
  const std::int64_t axis = from_front(*p.axis, c.shape(0).size());
  const Dim& size = c.shape(0)[static_cast<std::size_t>(axis)];
  Value indices = c.operand(1);
  if (p.mode != "fast") {
    const Tensor* known = c.constant(1);
    if (known == nullptr || !size.is_constant()) {
      return refuse("indices that may lie outside, in mode \"{}\"", p.mode);
    }
    indices = c.constant_of(settled(*known, size.constant(), p.mode == "wrap"));
  } else if (!size.is_constant() || size.constant() > ops::kFarAway) {
    return refuse("an axis that may be longer than indices of 32 bits reach");
  }
  return Values{
      c.layer("Gather", 8, {c.operand(0), indices, c.integer(axis)}, {{"batch_dims", "0"}})};
}

ValuesOr pad(Call& c) {
  const auto p = c.attrs<ops::PadAttrs>();
  Ints before, after;
  for (const Ints& widths : p.pad_width) {
    if (widths[0] < 0 || widths[1] < 0) return refuse("padding that cuts");
    before.push_back(widths[0]);
    after.push_back(widths[1]);
  }
  Values inputs = {c.operand(0), c.ints(before), c.ints(after)};
  TESSERA_TRY(std::string mode, word_of(p.pad_mode, {"constant", "edge", "reflect"}));
  if (p.pad_mode == "constant") {
    inputs.push_back(c.num_operands() > 1 ? c.operand(1) : c.number(0));
  }
  return Values{c.layer("Pad", 1, inputs, {{"pad_mode", std::move(mode)}})};
}

// Images (N, C, H, W) alone, of which height and width change by their quotients.
ValuesOr resize(Call& c) {
  const auto p = c.attrs<ops::ResizeAttrs>();
  const auto from = constant_shape(c.shape(0)), to = constant_shape(c.result().shape());
  if (!from || !to) return refuse("sizes that are not known");
  if (from->size() != 4 || (*from)[0] != (*to)[0] || (*from)[1] != (*to)[1]) {
    return refuse("dimensions change that are none of an image's height and width");
  }
  for (std::size_t d = 0; d < p.scales.size(); ++d) {
    const auto quotient = static_cast<double>((*to)[d]) / static_cast<double>((*from)[d]);
    if (p.scales[d] != quotient) return refuse("scales that are not the quotients of sizes");
  }
  if (p.cubic_exclude) return refuse("weights of what lies inside alone");
  TESSERA_TRY(std::string mode, word_of(p.method, {"nearest", "linear", "cubic"}));
  if (mode == "linear") mode = "linear_onnx";
  TESSERA_TRY(std::string places,
              word_of(p.coordinate_transformation_mode,
                      {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"}));
  TESSERA_TRY(
      std::string rounding,
      word_of(p.rounding_method, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  return Values{c.layer("Interpolate", 11,
                        {c.operand(0), c.ints({(*to)[2], (*to)[3]}), c.ints({2, 3})},
                        {{"mode", std::move(mode)},
                         {"shape_calculation_mode", "sizes"},
                         {"coordinate_transformation_mode", std::move(places)},
                         {"nearest_mode", std::move(rounding)},
                         {"antialias", "false"},
                         {"pads_begin", "0"},
                         {"pads_end", "0"},
                         {"cube_coeff", text_of(p.cubic_alpha)}})};
}

ValuesOr depth_to_space(Call& c) {
  const auto p = c.attrs<ops::DepthToSpaceAttrs>();
  return rearranged(c, "DepthToSpace", p.layout, p.block_size,
                    p.mode == "DCR" ? "blocks_first" : "depth_first");
}

ValuesOr space_to_depth(Call& c) {
  const auto p = c.attrs<ops::SpaceToDepthAttrs>();
  return rearranged(c, "SpaceToDepth", p.layout, p.block_size, "blocks_first");
}

}  // namespace tessera::backends::openvino
