// SPDX-License-Identifier: Apache-2.0
// Attributes of operators whose operands are indices, and of those that find indices.
#pragma once

#include "relay/attributes.h"

namespace tessera::ops {

struct TakeAttrs {
  std::int64_t batch_dims = 0;
  std::optional<std::int64_t> axis;  // none: of the flattened tensor
  // clip, wrap (negative indices count from the end), fast (all of them are inside)
  std::string mode = "clip";
  static constexpr auto fields =
      std::tuple{relay::attr("batch_dims", &TakeAttrs::batch_dims),
                 relay::attr("axis", &TakeAttrs::axis), relay::attr("mode", &TakeAttrs::mode)};
};
struct GatherAttrs {
  std::int64_t axis = 0;
  static constexpr auto fields = std::tuple{relay::required_attr("axis", &GatherAttrs::axis)};
};
struct GatherNdAttrs {
  std::int64_t batch_dims = 0;
  std::optional<std::int64_t> index_rank;
  static constexpr auto fields = std::tuple{relay::attr("batch_dims", &GatherNdAttrs::batch_dims),
                                            relay::attr("index_rank", &GatherNdAttrs::index_rank)};
};
struct ScatterElementsAttrs {
  std::int64_t axis = 0;
  std::string reduction = "update";  // update, add, mul, min, max
  static constexpr auto fields =
      std::tuple{relay::attr("axis", &ScatterElementsAttrs::axis),
                 relay::attr("reduction", &ScatterElementsAttrs::reduction)};
};
struct ScatterNdAttrs {
  std::string mode = "update";  // as ScatterElementsAttrs::reduction
  static constexpr auto fields = std::tuple{relay::attr("mode", &ScatterNdAttrs::mode)};
};
struct OneHotAttrs {
  std::int64_t depth = 0, axis = -1;
  DType dtype = kFloat32;
  static constexpr auto fields = std::tuple{relay::required_attr("depth", &OneHotAttrs::depth),
                                            relay::attr("axis", &OneHotAttrs::axis),
                                            relay::attr("dtype", &OneHotAttrs::dtype)};
};
struct TopKAttrs {
  std::int64_t k = 1, axis = -1;
  std::string ret_type = "both";  // both, values, indices
  bool is_ascend = false;
  DType dtype = kInt32;  // of the indices
  static constexpr auto fields = std::tuple{
      relay::attr("k", &TopKAttrs::k), relay::attr("axis", &TopKAttrs::axis),
      relay::attr("ret_type", &TopKAttrs::ret_type),
      relay::attr("is_ascend", &TopKAttrs::is_ascend), relay::attr("dtype", &TopKAttrs::dtype)};
};
struct NonMaxSuppressionAttrs {
  std::string output_format = "onnx";
  std::int64_t center_point_box = 0;
  static constexpr auto fields =
      std::tuple{relay::attr("output_format", &NonMaxSuppressionAttrs::output_format),
                 relay::attr("center_point_box", &NonMaxSuppressionAttrs::center_point_box)};
};
struct SortAttrs {
  std::int64_t axis = -1;
  bool is_ascend = true;
  static constexpr auto fields = std::tuple{relay::attr("axis", &SortAttrs::axis),
                                            relay::attr("is_ascend", &SortAttrs::is_ascend)};
};
struct ArgsortAttrs {
  std::int64_t axis = -1;
  bool is_ascend = true;
  DType dtype = kInt32;
  static constexpr auto fields = std::tuple{relay::attr("axis", &ArgsortAttrs::axis),
                                            relay::attr("is_ascend", &ArgsortAttrs::is_ascend),
                                            relay::attr("dtype", &ArgsortAttrs::dtype)};
};

}  // namespace tessera::ops
