// SPDX-License-Identifier: Apache-2.0
// Attributes of reductions and scans.
#pragma once

#include "relay/attributes.h"

namespace tessera::ops {

struct ReduceAttrs {
  std::optional<std::vector<std::int64_t>> axis;  // none: all
  bool keepdims = false;
  bool exclude = false;  // reduce the axes that are not named
  static constexpr auto fields = std::tuple{relay::attr("axis", &ReduceAttrs::axis),
                                            relay::attr("keepdims", &ReduceAttrs::keepdims),
                                            relay::attr("exclude", &ReduceAttrs::exclude)};
};
struct ArgReduceAttrs {
  std::optional<std::vector<std::int64_t>> axis;
  bool keepdims = false, exclude = false, select_last_index = false;
  DType dtype = kInt32;  // of the index (ours; ONNX wants int64)
  static constexpr auto fields =
      std::tuple{relay::attr("axis", &ArgReduceAttrs::axis),
                 relay::attr("keepdims", &ArgReduceAttrs::keepdims),
                 relay::attr("exclude", &ArgReduceAttrs::exclude),
                 relay::attr("select_last_index", &ArgReduceAttrs::select_last_index),
                 relay::attr("dtype", &ArgReduceAttrs::dtype)};
};
struct ScanAttrs {
  std::optional<std::int64_t> axis;  // none: of the flattened tensor
  std::optional<DType> dtype;        // none: the operand's
  bool exclusive = false;
  static constexpr auto fields =
      std::tuple{relay::attr("axis", &ScanAttrs::axis), relay::attr("dtype", &ScanAttrs::dtype),
                 relay::attr("exclusive", &ScanAttrs::exclusive)};
};

}  // namespace tessera::ops
