// SPDX-License-Identifier: Apache-2.0
// Attributes of element-wise operators.
#pragma once

#include "relay/attributes.h"

namespace tessera::ops {

struct CastAttrs {
  DType dtype = kFloat32;
  static constexpr auto fields = std::tuple{relay::required_attr("dtype", &CastAttrs::dtype)};
};
struct ClipAttrs {
  double a_min = 0, a_max = 0;
  static constexpr auto fields = std::tuple{relay::required_attr("a_min", &ClipAttrs::a_min),
                                            relay::required_attr("a_max", &ClipAttrs::a_max)};
};
struct BiasAddAttrs {
  std::int64_t axis = 1;
  static constexpr auto fields = std::tuple{relay::attr("axis", &BiasAddAttrs::axis)};
};
struct PreluAttrs {
  std::int64_t axis = 1;
  static constexpr auto fields = std::tuple{relay::attr("axis", &PreluAttrs::axis)};
};

// Activations; Relay has the first, the others are ONNX's with its names and defaults.
struct LeakyReluAttrs {
  double alpha = 0.25;
  static constexpr auto fields = std::tuple{relay::attr("alpha", &LeakyReluAttrs::alpha)};
};
struct EluAttrs {
  double alpha = 1;
  static constexpr auto fields = std::tuple{relay::attr("alpha", &EluAttrs::alpha)};
};
struct SeluAttrs {
  double alpha = 1.67326319217681884765625, gamma = 1.05070102214813232421875;
  static constexpr auto fields =
      std::tuple{relay::attr("alpha", &SeluAttrs::alpha), relay::attr("gamma", &SeluAttrs::gamma)};
};
struct CeluAttrs {
  double alpha = 1;
  static constexpr auto fields = std::tuple{relay::attr("alpha", &CeluAttrs::alpha)};
};
struct ThresholdedReluAttrs {
  double alpha = 1;
  static constexpr auto fields = std::tuple{relay::attr("alpha", &ThresholdedReluAttrs::alpha)};
};
struct HardSigmoidAttrs {
  double alpha = 0.2, beta = 0.5;
  static constexpr auto fields = std::tuple{relay::attr("alpha", &HardSigmoidAttrs::alpha),
                                            relay::attr("beta", &HardSigmoidAttrs::beta)};
};
struct ShrinkAttrs {
  double lambd = 0.5, bias = 0;
  static constexpr auto fields = std::tuple{relay::attr("lambd", &ShrinkAttrs::lambd),
                                            relay::attr("bias", &ShrinkAttrs::bias)};
};

}  // namespace tessera::ops
