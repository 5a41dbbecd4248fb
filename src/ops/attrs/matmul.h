// SPDX-License-Identifier: Apache-2.0
// Attributes of matrix products.
#pragma once

#include "relay/attributes.h"

namespace tessera::ops {

struct DenseAttrs {
  std::optional<std::int64_t> units;
  std::optional<DType> out_dtype;  // none: the operands'
  static constexpr auto fields = std::tuple{relay::required_attr("units", &DenseAttrs::units),
                                            relay::attr("out_dtype", &DenseAttrs::out_dtype)};
};
struct MatmulAttrs {
  std::optional<std::int64_t> units;
  std::optional<DType> out_dtype;
  bool transpose_a = false, transpose_b = false;  // of the last two dimensions
  static constexpr auto fields = std::tuple{relay::required_attr("units", &MatmulAttrs::units),
                                            relay::attr("out_dtype", &MatmulAttrs::out_dtype),
                                            relay::attr("transpose_a", &MatmulAttrs::transpose_a),
                                            relay::attr("transpose_b", &MatmulAttrs::transpose_b)};
};
struct BatchMatmulAttrs {
  std::optional<DType> out_dtype;
  bool transpose_a = false, transpose_b = false;
  static constexpr auto fields =
      std::tuple{relay::attr("out_dtype", &BatchMatmulAttrs::out_dtype),
                 relay::attr("transpose_a", &BatchMatmulAttrs::transpose_a),
                 relay::attr("transpose_b", &BatchMatmulAttrs::transpose_b)};
};

}  // namespace tessera::ops
