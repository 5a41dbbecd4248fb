// SPDX-License-Identifier: Apache-2.0
// Element by element, where OpenVINO has attributes or operands that the operator has not.
#include "ops/attrs/elementwise.h"

#include <algorithm>
#include <cmath>

#include "backends/openvino/converters.h"

namespace tessera::backends::openvino {
namespace {

bool may_be_nan(const Tensor* known) {
  if (known == nullptr) return true;
  const auto values = known->as<float>();
  return std::any_of(values.begin(), values.end(), [](float v) { return std::isnan(v); });
}

// OpenVINO's gives the other operand where one is NaN.
Values extreme(Call& c, std::string_view operation) {
  Value value = c.layer(operation, 1, {c.operand(0), c.operand(1)});
  for (const std::size_t i : {0, 1}) {
    if (!may_be_nan(c.constant(i))) continue;
    const Value is_nan = c.layer("NotEqual", 1, {c.operand(i), c.operand(i)});
    value = c.layer("Select", 1, {is_nan, c.operand(i), value});
  }
  return {value};
}

}  // namespace

ValuesOr is_nan(Call& c) { return Values{c.layer("NotEqual", 1, {c.operand(0), c.operand(0)})}; }
ValuesOr maximum(Call& c) { return extreme(c, "Maximum"); }
ValuesOr minimum(Call& c) { return extreme(c, "Minimum"); }

ValuesOr rsqrt(Call& c) {
  return Values{c.layer("Divide", 1, {c.number(1), c.layer("Sqrt", 1, {c.operand(0)})})};
}

ValuesOr round(Call& c) {
  return Values{c.layer("Round", 5, {c.operand(0)}, {{"mode", "half_to_even"}})};
}

ValuesOr clip(Call& c) {
  const auto p = c.attrs<ops::ClipAttrs>();
  Value value = c.operand(0);
  if (std::isfinite(p.a_min) && std::isfinite(p.a_max) && p.a_min <= p.a_max) {
    return Values{
        c.layer("Clamp", 1, {value}, {{"min", text_of(p.a_min)}, {"max", text_of(p.a_max)}})};
  }
  value = c.layer("Maximum", 1, {value, c.number(p.a_min)});
  return Values{c.layer("Minimum", 1, {value, c.number(p.a_max)})};
}

ValuesOr gelu(Call& c) {
  return Values{c.layer("Gelu", 7, {c.operand(0)}, {{"approximation_mode", "ERF"}})};
}

ValuesOr leaky_relu(Call& c) {
  const Tensor slope = Tensor::of(
      {1}, kFloat32, std::vector<float>{static_cast<float>(c.attrs<ops::LeakyReluAttrs>().alpha)});
  return Values{c.layer("PRelu", 1, {c.operand(0), c.constant_of(slope)})};
}

ValuesOr prelu(Call& c) {
  const std::size_t rank = c.shape(0).size();
  const std::int64_t axis = from_front(c.attrs<ops::PreluAttrs>().axis, rank);
  const Value slope = c.along(1, static_cast<std::size_t>(axis), rank);
  return Values{c.layer("PRelu", 1, {c.operand(0), slope})};
}

ValuesOr elu(Call& c) {
  const double alpha = c.attrs<ops::EluAttrs>().alpha;
  return Values{c.layer("Elu", 1, {c.operand(0)}, {{"alpha", text_of(alpha)}})};
}

ValuesOr hard_sigmoid(Call& c) {
  const auto p = c.attrs<ops::HardSigmoidAttrs>();
  return Values{c.layer("HardSigmoid", 1, {c.operand(0), c.number(p.alpha), c.number(p.beta)})};
}

ValuesOr bias_add(Call& c) {
  const std::size_t rank = c.shape(0).size();
  const std::int64_t axis = from_front(c.attrs<ops::BiasAddAttrs>().axis, rank);
  return Values{
      c.layer("Add", 1, {c.operand(0), c.along(1, static_cast<std::size_t>(axis), rank)})};
}

// Whole numbers of up to 32 bits become float32 as the operator says; what becomes of floats
// outside of a type's range, and of 64 bits, differs.
ValuesOr cast(Call& c) {
  const DType from = c.type(0).dtype(), to = c.result().dtype();
  // A result that is an input is not written: OpenVINO leaves the memory for it as it was.
  if (from == to) return refuse("it changes nothing");
  if (to == kBool && from == kFloat32) {
    return Values{c.layer("NotEqual", 1, {c.operand(0), c.number(0)})};
  }
  const bool is_exact = (to == kFloat32 && from != kInt64) || (to == kInt32 && from == kBool);
  if (!is_exact) return refuse("{} to {} is another conversion", to_string(from), to_string(to));
  return Values{
      c.layer("Convert", 1, {c.operand(0)}, {{"destination_type", std::string(ir_type(to))}})};
}

}  // namespace tessera::backends::openvino
