// SPDX-License-Identifier: Apache-2.0
// Attributes of operators that make tensors of a given size.
#pragma once

#include "relay/attributes.h"

namespace tessera::ops {

struct InitAttrs {  // zeros, ones
  std::vector<std::int64_t> shape;
  DType dtype = kFloat32;
  static constexpr auto fields = std::tuple{relay::required_attr("shape", &InitAttrs::shape),
                                            relay::attr("dtype", &InitAttrs::dtype)};
};
struct FullAttrs {
  std::vector<std::int64_t> shape;
  std::optional<DType> dtype;  // none: the fill value's
  static constexpr auto fields = std::tuple{relay::required_attr("shape", &FullAttrs::shape),
                                            relay::attr("dtype", &FullAttrs::dtype)};
};
struct ArangeAttrs {
  std::optional<DType> dtype;  // none: the operands'
  static constexpr auto fields = std::tuple{relay::attr("dtype", &ArangeAttrs::dtype)};
};
struct EyeAttrs {
  std::int64_t rows = 0, columns = 0, k = 0;
  DType dtype = kFloat32;
  static constexpr auto fields =
      std::tuple{relay::required_attr("rows", &EyeAttrs::rows),
                 relay::required_attr("columns", &EyeAttrs::columns),
                 relay::attr("k", &EyeAttrs::k), relay::attr("dtype", &EyeAttrs::dtype)};
};

struct DynFullAttrs {
  std::optional<DType> dtype;  // none: that of the value
  static constexpr auto fields = std::tuple{relay::attr("dtype", &DynFullAttrs::dtype)};
};
struct SizesAttrs {
  std::vector<std::string> values;
  bool scalar = false;  // the only value, of rank 0
  static constexpr auto fields = std::tuple{relay::required_attr("values", &SizesAttrs::values),
                                            relay::attr("scalar", &SizesAttrs::scalar)};
};

}  // namespace tessera::ops
