// SPDX-License-Identifier: Apache-2.0
// Attributes of softmax and normalisations.
#pragma once

#include "relay/attributes.h"

namespace tessera::ops {

struct SoftmaxAttrs {
  std::int64_t axis = -1;
  static constexpr auto fields = std::tuple{relay::attr("axis", &SoftmaxAttrs::axis)};
};
struct LayerNormAttrs {
  std::int64_t axis = -1;
  double epsilon = 1e-5;
  bool center = true, scale = true;
  static constexpr auto fields = std::tuple{
      relay::attr("axis", &LayerNormAttrs::axis), relay::attr("epsilon", &LayerNormAttrs::epsilon),
      relay::attr("center", &LayerNormAttrs::center), relay::attr("scale", &LayerNormAttrs::scale)};
};
struct LayerNormFactorsAttrs {
  double epsilon = 1e-5;
  static constexpr auto fields =
      std::tuple{relay::attr("epsilon", &LayerNormFactorsAttrs::epsilon)};
};
struct RmsNormAttrs {
  std::int64_t axis = -1;
  double epsilon = 1e-5;
  bool scale = true;
  static constexpr auto fields = std::tuple{relay::attr("axis", &RmsNormAttrs::axis),
                                            relay::attr("epsilon", &RmsNormAttrs::epsilon),
                                            relay::attr("scale", &RmsNormAttrs::scale)};
};
struct BatchNormAttrs {
  std::int64_t axis = 1;
  double epsilon = 1e-5;
  bool center = true, scale = true;
  static constexpr auto fields = std::tuple{
      relay::attr("axis", &BatchNormAttrs::axis), relay::attr("epsilon", &BatchNormAttrs::epsilon),
      relay::attr("center", &BatchNormAttrs::center), relay::attr("scale", &BatchNormAttrs::scale)};
};
struct InstanceNormAttrs {
  std::int64_t axis = 1;
  double epsilon = 1e-5;
  bool center = true, scale = true;
  static constexpr auto fields = std::tuple{relay::attr("axis", &InstanceNormAttrs::axis),
                                            relay::attr("epsilon", &InstanceNormAttrs::epsilon),
                                            relay::attr("center", &InstanceNormAttrs::center),
                                            relay::attr("scale", &InstanceNormAttrs::scale)};
};
struct DropoutAttrs {
  double rate = 0.5;
  static constexpr auto fields = std::tuple{relay::attr("rate", &DropoutAttrs::rate)};
};
struct LrnAttrs {
  std::int64_t size = 5, axis = 1;
  double bias = 2, alpha = 1e-5, beta = 0.75;
  static constexpr auto fields =
      std::tuple{relay::attr("size", &LrnAttrs::size), relay::attr("axis", &LrnAttrs::axis),
                 relay::attr("bias", &LrnAttrs::bias), relay::attr("alpha", &LrnAttrs::alpha),
                 relay::attr("beta", &LrnAttrs::beta)};
};

}  // namespace tessera::ops
