// SPDX-License-Identifier: Apache-2.0
// Attributes of operators that move elements without looking at them.
#pragma once

#include <limits>

#include "relay/attributes.h"

namespace tessera::ops {

struct ReshapeAttrs {
  std::vector<std::int64_t>
      newshape;            // 0 copies, -1 the rest, -2 copies the rest, -3 merges, -4 splits
  bool allowzero = false;  // 0 is zero
  static constexpr auto fields =
      std::tuple{relay::required_attr("newshape", &ReshapeAttrs::newshape),
                 relay::attr("allowzero", &ReshapeAttrs::allowzero)};
};
struct TransposeAttrs {
  std::optional<std::vector<std::int64_t>> axes;  // none: reversed
  static constexpr auto fields = std::tuple{relay::required_attr("axes", &TransposeAttrs::axes)};
};
struct ExpandDimsAttrs {
  std::int64_t axis = 0, num_newaxis = 1;
  static constexpr auto fields =
      std::tuple{relay::required_attr("axis", &ExpandDimsAttrs::axis),
                 relay::attr("num_newaxis", &ExpandDimsAttrs::num_newaxis)};
};
struct SqueezeAttrs {
  std::optional<std::vector<std::int64_t>> axis;  // none: all of size 1
  static constexpr auto fields = std::tuple{relay::required_attr("axis", &SqueezeAttrs::axis)};
};
struct SplitAttrs {
  relay::AttrValue indices_or_sections;  // a number of equal parts, or the places to cut
  std::int64_t axis = 0;
  static constexpr auto fields =
      std::tuple{relay::required_attr("indices_or_sections", &SplitAttrs::indices_or_sections),
                 relay::attr("axis", &SplitAttrs::axis)};
};
// Ends of a slice from here on mean "to the end" whatever the size: exporters write the largest
// int32 or int64.
inline constexpr std::int64_t kFarAway = std::numeric_limits<std::int32_t>::max();

struct ConcatenateAttrs {
  std::int64_t axis = 0;
  static constexpr auto fields = std::tuple{relay::attr("axis", &ConcatenateAttrs::axis)};
};
struct StackAttrs {
  std::int64_t axis = 0;
  static constexpr auto fields = std::tuple{relay::attr("axis", &StackAttrs::axis)};
};
// Python's slices; in mode "size" `end` holds sizes (-1: up to the end) and strides are 1.
struct StridedSliceAttrs {
  std::optional<std::vector<std::int64_t>> begin, end, strides;
  std::string slice_mode = "end";
  std::optional<std::vector<std::int64_t>> axes;  // none: the first ones
  static constexpr auto fields =
      std::tuple{relay::required_attr("begin", &StridedSliceAttrs::begin),
                 relay::required_attr("end", &StridedSliceAttrs::end),
                 relay::required_attr("strides", &StridedSliceAttrs::strides),
                 relay::attr("slice_mode", &StridedSliceAttrs::slice_mode),
                 relay::required_attr("axes", &StridedSliceAttrs::axes)};
};
// The same with lists that are operands.
struct DynStridedSliceAttrs {
  std::string slice_mode = "end";
  std::optional<std::vector<std::int64_t>> axes;  // none: the first ones
  static constexpr auto fields =
      std::tuple{relay::attr("slice_mode", &DynStridedSliceAttrs::slice_mode),
                 relay::attr("axes", &DynStridedSliceAttrs::axes)};
};
struct BroadcastToAttrs {
  std::vector<std::int64_t> shape;
  static constexpr auto fields =
      std::tuple{relay::required_attr("shape", &BroadcastToAttrs::shape)};
};
struct TileAttrs {
  std::vector<std::int64_t> reps;
  static constexpr auto fields = std::tuple{relay::required_attr("reps", &TileAttrs::reps)};
};
struct RepeatAttrs {
  std::int64_t repeats = 1;
  std::optional<std::int64_t> axis;  // none: of the flattened tensor
  static constexpr auto fields = std::tuple{relay::required_attr("repeats", &RepeatAttrs::repeats),
                                            relay::attr("axis", &RepeatAttrs::axis)};
};
struct ReverseAttrs {
  std::int64_t axis = 0;
  static constexpr auto fields = std::tuple{relay::required_attr("axis", &ReverseAttrs::axis)};
};
struct ReverseSequenceAttrs {
  std::int64_t seq_axis = 1, batch_axis = 0;
  static constexpr auto fields =
      std::tuple{relay::attr("seq_axis", &ReverseSequenceAttrs::seq_axis),
                 relay::attr("batch_axis", &ReverseSequenceAttrs::batch_axis)};
};
struct PadAttrs {
  std::vector<std::vector<std::int64_t>> pad_width;  // before and after, for each dimension
  std::string pad_mode = "constant";                 // constant, edge, reflect
  static constexpr auto fields = std::tuple{relay::required_attr("pad_width", &PadAttrs::pad_width),
                                            relay::attr("pad_mode", &PadAttrs::pad_mode)};
};
struct ShapeOfAttrs {
  DType dtype = kInt32;
  static constexpr auto fields = std::tuple{relay::attr("dtype", &ShapeOfAttrs::dtype)};
};
struct DepthToSpaceAttrs {
  std::int64_t block_size = 1;
  std::string layout = "NCHW", mode = "DCR";
  static constexpr auto fields =
      std::tuple{relay::required_attr("block_size", &DepthToSpaceAttrs::block_size),
                 relay::attr("layout", &DepthToSpaceAttrs::layout),
                 relay::attr("mode", &DepthToSpaceAttrs::mode)};
};
struct SpaceToDepthAttrs {
  std::int64_t block_size = 1;
  std::string layout = "NCHW";
  static constexpr auto fields =
      std::tuple{relay::required_attr("block_size", &SpaceToDepthAttrs::block_size),
                 relay::attr("layout", &SpaceToDepthAttrs::layout)};
};
struct TriluAttrs {
  bool upper = true;
  static constexpr auto fields = std::tuple{relay::attr("upper", &TriluAttrs::upper)};
};

}  // namespace tessera::ops
