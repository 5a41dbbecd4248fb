// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/activation.h"

#include <cmath>

namespace tessera::backends::onednn {
namespace {

using relay::is_constant;
using relay::is_op;
using relay::Pattern;

constexpr const char* kRoot = "activation";

bool is_close(std::optional<double> value, double wanted) {
  return value && std::abs(*value - wanted) <= 1e-4 * std::abs(wanted);
}

// The operand of a two-operand call that is a constant, and the one that is not.
struct Split {
  NodeId value;
  std::optional<double> constant;
};
Split split(const Subject& s, NodeId call) {
  const auto operands = s.operands(call);
  const int at = s.is_constant(operands[0]) ? 0 : 1;
  return {operands[1 - at], s.scalar(operands[at])};
}

// ---- One operator ------------------------------------------------------------------------------

template <class F>
Expected<PostOp, Refusal> of_operand(const Subject& s, NodeId root, NodeId* input, F make) {
  *input = s.operands(root)[0];
  return make();
}

#define SIMPLE(NAME, OP, ...)                                                           \
  Activation {                                                                          \
    NAME, [](const Pattern& x) { return is_op(OP, {x}, kRoot); },                       \
        [](const Subject& s, NodeId root, NodeId* input) -> Expected<PostOp, Refusal> { \
          *input = s.operands(root)[0];                                                 \
          return PostOp __VA_ARGS__;                                                    \
        }                                                                               \
  }

// ---- GELU --------------------------------------------------------------------------------------

// The factors of x * 0.5 * (1 + t(x)), in the orders that exporters write.
Pattern half_of_product(const Pattern& x, const Pattern& one_plus) {
  const Pattern half = is_constant("half");
  return is_op("multiply", {is_op("multiply", {x, one_plus}), half}, kRoot) |
         is_op("multiply", {is_op("multiply", {x, half}), one_plus}, kRoot) |
         is_op("multiply", {x, is_op("multiply", {one_plus, half})}, kRoot);
}

Pattern gelu_erf(const Pattern& x) {
  const Pattern scale = is_constant("scale");
  const Pattern scaled =
      is_op("divide", {x, scale}, "scaled") | is_op("multiply", {x, scale}, "scaled");
  return half_of_product(x, is_op("add", {is_op("erf", {scaled}), is_constant("one")}));
}

Expected<PostOp, Refusal> gelu_erf_op(const Subject& s, NodeId, NodeId* input) {
  const NodeId scaled = s.capture("scaled");
  const Split factor = split(s, scaled);
  *input = factor.value;
  const double wanted = s.op(scaled) == "divide" ? M_SQRT2 : M_SQRT1_2;
  if (!is_close(s.scalar(s.capture("half")), 0.5) || !is_close(s.scalar(s.capture("one")), 1) ||
      !is_close(factor.constant, wanted)) {
    return refuse("the constants are not those of GELU");
  }
  return PostOp{"eltwise_gelu_erf"};
}

// 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
Pattern gelu_tanh(const Pattern& x) {
  const Pattern cube =
      is_op("power", {x, is_constant("three")}) | is_op("multiply", {is_op("multiply", {x, x}), x});
  const Pattern sum = is_op("add", {x, is_op("multiply", {cube, is_constant("cubic")})}, "sum");
  const Pattern t = is_op("tanh", {is_op("multiply", {sum, is_constant("scale")})});
  return half_of_product(x, is_op("add", {t, is_constant("one")}));
}

Expected<PostOp, Refusal> gelu_tanh_op(const Subject& s, NodeId, NodeId* input) {
  const auto terms = s.operands(s.capture("sum"));
  // x is the older one of x and c * x^3.
  *input = terms[0] < terms[1] ? terms[0] : terms[1];
  const NodeId three = s.capture("three");
  if (!is_close(s.scalar(s.capture("half")), 0.5) || !is_close(s.scalar(s.capture("one")), 1) ||
      !is_close(s.scalar(s.capture("cubic")), 0.044715) ||
      !is_close(s.scalar(s.capture("scale")), std::sqrt(M_2_PI)) ||
      (three && !is_close(s.scalar(three), 3))) {
    return refuse("the constants are not those of GELU");
  }
  return PostOp{"eltwise_gelu_tanh"};
}

// ---- Others ------------------------------------------------------------------------------------

Pattern swish(const Pattern& x) {
  return is_op("multiply", {x, is_op("sigmoid", {x}, "gate")}, kRoot);
}

Expected<PostOp, Refusal> swish_op(const Subject& s, NodeId, NodeId* input) {
  *input = s.operands(s.capture("gate"))[0];
  return PostOp{"eltwise_swish", -1, 1};
}

constexpr auto kSmallest = 1e30;  // beyond it a bound of clip is none

Expected<PostOp, Refusal> clip_op(const Subject& s, NodeId root, NodeId* input) {
  *input = s.operands(root)[0];
  const double low = s.number(root, "a_min"), high = s.number(root, "a_max");
  if (low == 0 && high > kSmallest) return PostOp{"eltwise_relu"};
  return PostOp{"eltwise_clip", -1, low, high};
}

const Activation kActivations[] = {
    {"gelu_erf", gelu_erf, gelu_erf_op},
    {"gelu_tanh", gelu_tanh, gelu_tanh_op},
    {"swish", swish, swish_op},
    SIMPLE("gelu", "nn.gelu", {"eltwise_gelu_erf"}),
    SIMPLE("hard_swish", "nn.hard_swish", {"eltwise_hardswish", -1, 1.0 / 6, 0.5}),
    SIMPLE("relu", "nn.relu", {"eltwise_relu"}),
    {"clip", [](const Pattern& x) { return is_op("clip", {x}, kRoot); }, clip_op},
    SIMPLE("leaky_relu", "nn.leaky_relu", {"eltwise_relu", -1, s.number(root, "alpha")}),
    SIMPLE("elu", "nn.elu", {"eltwise_elu", -1, s.number(root, "alpha")}),
    SIMPLE("hard_sigmoid", "nn.hard_sigmoid",
           {"eltwise_hardsigmoid", -1, s.number(root, "alpha"), s.number(root, "beta")}),
    SIMPLE("tanh", "tanh", {"eltwise_tanh"}),
    SIMPLE("sigmoid", "sigmoid", {"eltwise_logistic"}),
};
#undef SIMPLE

}  // namespace

std::span<const Activation> activations() { return kActivations; }

const Activation* find_activation(std::string_view name) {
  for (const Activation& a : kActivations) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

}  // namespace tessera::backends::onednn
