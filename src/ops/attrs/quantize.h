// SPDX-License-Identifier: Apache-2.0
// Attributes of quantisation.
#pragma once

#include "relay/attributes.h"

namespace tessera::ops {

struct QuantizeAttrs {
  DType out_dtype = kUInt8;
  std::int64_t axis = -1;
  static constexpr auto fields = std::tuple{relay::attr("out_dtype", &QuantizeAttrs::out_dtype),
                                            relay::attr("axis", &QuantizeAttrs::axis)};
};
struct DequantizeAttrs {
  std::int64_t axis = -1;
  DType out_dtype = kFloat32;
  static constexpr auto fields = std::tuple{relay::attr("axis", &DequantizeAttrs::axis),
                                            relay::attr("out_dtype", &DequantizeAttrs::out_dtype)};
};

}  // namespace tessera::ops
