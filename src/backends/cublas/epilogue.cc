// SPDX-License-Identifier: Apache-2.0
#include "backends/cublas/epilogue.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "byoc/composite_match.h"
#include "ops/attrs/elementwise.h"
#include "relay/operator.h"
#include "relay/patterns/gelu.h"

namespace tessera::backends::cublas {
namespace {

using relay::Function;
using relay::Match;
using relay::NodeId;
using relay::Refusal;

using Why = std::optional<Refusal>;

const Tensor* constant_of(const Match& match, std::string_view capture) {
  const NodeId id = match.find(capture);
  return id ? byoc::constant_of(*match.function, match.pool, id) : nullptr;
}

std::optional<double> number(const Match& match, std::string_view capture) {
  const Tensor* tensor = constant_of(match, capture);
  if (tensor == nullptr || tensor->num_elements() != 1) return std::nullopt;
  return element_as_double(*tensor, 0);
}

Why describe_scale(const Match& match, Description& d) {
  const bool divides = static_cast<bool>(match.find("divisor"));
  if (!divides && !match.find("alpha")) return std::nullopt;
  const auto factor = number(match, divides ? "divisor" : "alpha");
  if (!factor) return Refusal{"the factor after the product is not a number"};
  d.spec.alpha *= static_cast<float>(divides ? 1 / *factor : *factor);
  if (!std::isfinite(d.spec.alpha)) return Refusal{"the factor after the product is not finite"};
  return std::nullopt;
}

// One value for each column?
bool is_bias(const Shape& shape, const Shape& result) {
  return !shape.empty() && shape.size() <= result.size() && shape.back() == result.back() &&
         std::all_of(shape.begin(), shape.end() - 1, [](const Dim& d) { return d == Dim(1); });
}

Why add_summand(const Match& match, NodeId summand, Description& d) {
  const Function& f = *match.function;
  const Type &type = f.type(summand), &result = f.type(match.root);
  if (type.dtype() != result.dtype()) {
    return Refusal{
        fmt::format("{} is added to {}", to_string(type.dtype()), to_string(result.dtype()))};
  }
  if (!d.bias && is_bias(type.shape(), result.shape())) {
    d.bias = summand;
  } else if (!d.residual && type.shape() == result.shape()) {
    d.residual = summand;
  } else {
    return Refusal{
        fmt::format("what is added has the shape {}, neither one value for each column nor "
                    "the product's shape",
                    to_string(type.shape()))};
  }
  return std::nullopt;
}

Why describe_summands(const Match& match, Description& d) {
  const Function& f = *match.function;
  if (const NodeId add = match.find("bias_add")) {
    const std::int64_t axis =
        relay::read_attrs<ops::BiasAddAttrs>(f.as<relay::OpCall>(add)->attrs).axis;
    const auto rank = static_cast<std::int64_t>(f.type(add).shape().size());
    if (axis != -1 && axis != rank - 1) return Refusal{"the bias is not one of columns"};
  }
  for (const char* capture : {"first", "second"}) {
    const NodeId summand = match.find(capture);
    if (!summand) continue;
    if (auto why = add_summand(match, summand, d)) return why;
  }
  return std::nullopt;
}

// What is written as a number of sixteen bits is near it.
bool is_near(const std::optional<double>& value, double wanted) {
  constexpr double kRounding = 4e-3;
  return value && std::abs(*value - wanted) <= kRounding * std::abs(wanted);
}

Why check_numbers_of_tanh_gelu(const Match& match) {
  constexpr double kSlope = 0.7978845608, kCubic = 0.044715;
  if (is_near(number(match, "slope"), kSlope) && is_near(number(match, "cubic"), kCubic) &&
      is_near(number(match, "half"), 0.5) && is_near(number(match, "one"), 1) &&
      (!match.find("exponent") || is_near(number(match, "exponent"), 3))) {
    return std::nullopt;
  }
  return Refusal{"the numbers around the hyperbolic tangent are not those of GELU"};
}

// The two differ most at -2.7, where this is -0.0094.
Why check_erf_gelu(const Match& match, const Target& target) {
  if (match.find("erf_form")) {
    if (const auto input = relay::input_of_erf_gelu(match); !input) return input.error();
  }
  if (target.get_bool("gelu_by_tanh")) return std::nullopt;
  return Refusal{
      "the library's GELU is the one by tanh, which this one by erf differs from by up to 0.00048: "
      "-gelu_by_tanh allows that"};
}

Why describe_activation(const Match& match, const Target& target, Description& d) {
  if (match.find("relu")) d.spec.activation = Activation::kRelu;
  const bool is_by_erf = match.find("erf_form") || match.find("gelu_erf");
  if (!is_by_erf && !match.find("tanh_form") && !match.find("gelu_tanh")) return std::nullopt;
  if (is_by_erf) {
    if (auto why = check_erf_gelu(match, target)) return why;
  } else if (match.find("tanh_form")) {
    if (auto why = check_numbers_of_tanh_gelu(match)) return why;
  }
  if (d.spec.result == Scalar::kFloat32 && d.spec.sums != Sums::kTf32) {
    return Refusal{"the library's GELU has fewer digits than float32: -tf32 allows that"};
  }
  d.spec.activation = Activation::kGelu;
  return std::nullopt;
}

// A product of floats of eight bits that gives float32 has a bias of bfloat16 there.
Why check_bias(const Description& d) {
  if (!d.bias || !d.spec.is_float8() || d.spec.result != Scalar::kFloat32) return std::nullopt;
  return Refusal{"a product of floats of eight bits that gives float32 takes no bias of float32"};
}

}  // namespace

Why describe_epilogue(const Match& match, const Target& target, Description& d) {
  const Function& f = *match.function;
  const NodeId narrow = match.find("narrow");
  const Type &product = f.type(narrow ? narrow : match.find("core")), &result = f.type(match.root);
  if (product.shape() != result.shape()) return Refusal{"the product is broadcast"};
  if (auto why = describe_scale(match, d)) return why;
  if (auto why = describe_summands(match, d)) return why;
  if (auto why = check_bias(d)) return why;
  if (auto why = describe_activation(match, target, d)) return why;
  const bool has_any =
      d.spec.alpha != 1 || d.bias || d.residual || d.spec.activation != Activation::kNone;
  if (d.spec.sums == Sums::kInt32 && has_any) {
    return Refusal{"after a product of int8 the library computes nothing else"};
  }
  // The sums of a product of floats of eight bits are rounded once, to what is written.
  const bool is_rounded_twice = narrow && product.dtype() != result.dtype();
  if (is_rounded_twice) return Refusal{"the type changes after the product was rounded"};
  if (product.dtype() != result.dtype() && !match.find("cast") &&
      d.spec.activation != Activation::kGelu) {
    return Refusal{"the type changes after the product"};
  }
  return std::nullopt;
}

}  // namespace tessera::backends::cublas
