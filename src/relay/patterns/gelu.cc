// SPDX-License-Identifier: Apache-2.0
#include "relay/patterns/gelu.h"

#include <cmath>

#include "constants/pool.h"

namespace tessera::relay {
namespace {

// The factors of x * 0.5 * (1 + t(x)), in the orders that exporters write.
Pattern half_of_product(const Pattern& x, const Pattern& one_plus, const std::string& root) {
  const Pattern half = is_constant("half");
  return is_op("multiply", {is_op("multiply", {x, one_plus}), half}, root) |
         is_op("multiply", {is_op("multiply", {x, half}), one_plus}, root) |
         is_op("multiply", {x, is_op("multiply", {one_plus, half})}, root);
}

// How far exporters are from the numbers of the definition, before they are rounded to a type.
constexpr double kDigitsLeftOut = 1e-4;

struct Number {
  double value = 0;
  DType dtype;
};

// What a constant of one number holds.
std::optional<Number> number(const Match& match, NodeId id) {
  const auto* constant = match.function->as<Constant>(id);
  if (constant == nullptr) return std::nullopt;
  const auto* tensor = std::get_if<Tensor>(&constant->value);
  if (tensor == nullptr && match.pool != nullptr) tensor = &match.pool->resolve(constant->value);
  if (tensor == nullptr || tensor->num_elements() != 1) return std::nullopt;
  return Number{element_as_double(*tensor, 0), tensor->dtype};
}

double rounded(double value, DType dtype) {
  if (!dtype.is_float()) return value;
  return element_as_double(tensor_from_doubles({}, dtype, std::vector{value}), 0);
}

// In 16 bits the nearest number may be further away than what exporters leave out.
bool is_close(const std::optional<Number>& found, double wanted) {
  const double most = kDigitsLeftOut * wanted;
  return found && found->value >= rounded(wanted - most, found->dtype) &&
         found->value <= rounded(wanted + most, found->dtype);
}

bool holds(const Match& match, std::string_view capture, double wanted) {
  return is_close(number(match, match.find(capture)), wanted);
}

Unexpected<Refusal> other_numbers() { return refuse("the constants are not those of GELU"); }

}  // namespace

Pattern erf_gelu(const Pattern& x, const std::string& root) {
  const Pattern scale = is_constant("scale");
  const Pattern scaled =
      is_op("divide", {x, scale}, "scaled") | is_op("multiply", {x, scale}, "scaled");
  return half_of_product(x, is_op("add", {is_op("erf", {scaled}), is_constant("one")}), root);
}

Pattern tanh_gelu(const Pattern& x, const std::string& root) {
  const Pattern cube =
      is_op("power", {x, is_constant("three")}) | is_op("multiply", {is_op("multiply", {x, x}), x});
  const Pattern sum = is_op("add", {x, is_op("multiply", {cube, is_constant("cubic")})}, "sum");
  const Pattern t = is_op("tanh", {is_op("multiply", {sum, is_constant("scale")})});
  return half_of_product(x, is_op("add", {t, is_constant("one")}), root);
}

Expected<NodeId, Refusal> input_of_erf_gelu(const Match& match) {
  const NodeId scaled = match.find("scaled");
  const auto operands = match.function->operands(scaled);
  const std::size_t at = match.function->as<Constant>(operands[0]) != nullptr ? 0 : 1;
  const double wanted = match.function->op(scaled)->name == "divide" ? M_SQRT2 : M_SQRT1_2;
  if (!holds(match, "half", 0.5) || !holds(match, "one", 1) ||
      !is_close(number(match, operands[at]), wanted)) {
    return other_numbers();
  }
  return operands[1 - at];
}

Expected<NodeId, Refusal> input_of_tanh_gelu(const Match& match) {
  const auto terms = match.function->operands(match.find("sum"));
  const NodeId three = match.find("three");
  if (!holds(match, "half", 0.5) || !holds(match, "one", 1) || !holds(match, "cubic", 0.044715) ||
      !holds(match, "scale", std::sqrt(M_2_PI)) || (three && !is_close(number(match, three), 3))) {
    return other_numbers();
  }
  // x is the older one of x and c * x^3.
  return terms[0] < terms[1] ? terms[0] : terms[1];
}

}  // namespace tessera::relay
