// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/activation.h"

#include "relay/patterns/gelu.h"

namespace tessera::backends::onednn {
namespace {

using relay::is_op;
using relay::Pattern;

constexpr const char* kRoot = "activation";

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

Pattern erf_gelu(const Pattern& x) { return relay::erf_gelu(x, kRoot); }
Pattern tanh_gelu(const Pattern& x) { return relay::tanh_gelu(x, kRoot); }

Expected<PostOp, Refusal> erf_gelu_op(const Subject& s, NodeId, NodeId* input) {
  TESSERA_TRY(*input, relay::input_of_erf_gelu(s.match()));
  return PostOp{"eltwise_gelu_erf"};
}

Expected<PostOp, Refusal> tanh_gelu_op(const Subject& s, NodeId, NodeId* input) {
  TESSERA_TRY(*input, relay::input_of_tanh_gelu(s.match()));
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
    {"gelu_erf", erf_gelu, erf_gelu_op},
    {"gelu_tanh", tanh_gelu, tanh_gelu_op},
    {"swish", swish, swish_op},
    SIMPLE("gelu", "nn.gelu", {"eltwise_gelu_erf"}),
    SIMPLE("approximate_gelu", "nn.gelu_tanh", {"eltwise_gelu_tanh"}),
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
