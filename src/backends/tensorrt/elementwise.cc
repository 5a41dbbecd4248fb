// SPDX-License-Identifier: Apache-2.0
// Element by element.
#include <cmath>
#include <numbers>

#include "backends/tensorrt/converters.h"

namespace tessera::backends::tensorrt {

Value activation_of(Call& c, double alpha, double beta) {
  return c.layer(
      "activation", {c.operand(0)},
      {{"type", {std::string(c.type())}}, {"alpha", text_of(alpha)}, {"beta", text_of(beta)}});
}

ValueOr activation(Call& c) { return activation_of(c, 0, 0); }
ValueOr softplus(Call& c) { return activation_of(c, 1, 1); }
ValueOr unary(Call& c) { return c.unary(c.type(), c.operand(0), c.result_shape()); }

ValueOr hard_sigmoid(Call& c) {
  const auto p = c.attrs<ops::HardSigmoidAttrs>();
  return activation_of(c, p.alpha, p.beta);
}

ValueOr clip(Call& c) {
  const auto p = c.attrs<ops::ClipAttrs>();
  if (!std::isfinite(p.a_min) || !std::isfinite(p.a_max) || p.a_min > p.a_max) {
    return refuse("bounds from {} to {}", p.a_min, p.a_max);
  }
  return activation_of(c, p.a_min, p.a_max);
}

ValueOr elementwise(Call& c) {
  const Ints shape = c.result_shape();
  const Value a = c.with_rank(0, shape.size());
  const Value b = c.with_rank(1, shape.size());
  return c.elementwise(c.type(), a, b, shape);
}

ValueOr rsqrt(Call& c) {
  const Ints shape = c.result_shape();
  return c.unary(c.type(), c.unary("SQRT", c.operand(0), shape), shape);
}

// x * (erf(x / sqrt(2)) + 1) / 2
ValueOr gelu(Call& c) {
  const Ints shape = c.result_shape();
  const std::size_t rank = shape.size();
  const Value x = c.operand(0);
  const Value scaled = c.elementwise("PROD", x, c.number(1 / std::numbers::sqrt2, rank), shape);
  const Value erf = c.unary(c.type(), scaled, shape);
  const Value weight = c.elementwise("SUM", erf, c.number(1, rank), shape);
  const Value half = c.elementwise("PROD", x, c.number(0.5, rank), shape);
  return c.elementwise("PROD", half, weight, shape);
}

ValueOr bias_add(Call& c) {
  const Ints shape = c.result_shape();
  const std::int64_t axis = from_front(c.attrs<ops::BiasAddAttrs>().axis, shape.size());
  return c.elementwise(c.type(), c.operand(0), c.along(1, axis, shape.size()), shape);
}

}  // namespace tessera::backends::tensorrt
