// SPDX-License-Identifier: Apache-2.0
// Element-wise operators whose ONNX form differs from the record's: variadic ones, Clip, Pow, Cast, ...
#include <limits>

#include "import/converters.h"

namespace tessera::import {
namespace {

// Folds the inputs from the left with a binary operator.
NodeId chain(Node& n, std::string_view op) {
  const std::vector<NodeId> inputs = n.inputs();
  if (inputs.empty()) n.invalid(Code::kWrongArity, "it needs an input");
  NodeId result = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) result = n.call(op, {result, inputs[i]});
  return result;
}

std::vector<NodeId> convert_max(Node& n) { return {chain(n, "maximum")}; }
std::vector<NodeId> convert_min(Node& n) { return {chain(n, "minimum")}; }
std::vector<NodeId> convert_sum(Node& n) { return {chain(n, "add")}; }

std::vector<NodeId> convert_mean(Node& n) {
  const NodeId sum = chain(n, "add");
  const auto count = static_cast<double>(n.inputs().size());
  return {n.call("divide", {sum, n.scalar(count, n.dtype(sum))})};
}

std::vector<NodeId> convert_clip_attrs(Node& n) {
  const double most = std::numeric_limits<float>::max();
  return {n.call("clip", {n.input(0)},
                 {{"a_min", n.float_attr("min", -most)}, {"a_max", n.float_attr("max", most)}})};
}

// Bounds that are known become attributes, so that back ends can fuse them.
std::vector<NodeId> convert_clip(Node& n) {
  NodeId x = n.input(0);
  const bool lower = n.has_input(1), upper = n.has_input(2);
  const Tensor* low = lower ? n.constant(n.input(1)) : nullptr;
  const Tensor* high = upper ? n.constant(n.input(2)) : nullptr;
  if (n.dtype(x).is_float() && low != nullptr && high != nullptr) {
    return {n.call("clip", {x}, {{"a_min", element_as_double(*low, 0)},
                                 {"a_max", element_as_double(*high, 0)}})};
  }
  if (lower) x = n.call("maximum", {x, n.reshape(n.input(1), {})});
  if (upper) x = n.call("minimum", {x, n.reshape(n.input(2), {})});
  return {x};
}

// The exponent may have another type than the base, which the result has.
std::vector<NodeId> convert_pow(Node& n) {
  const NodeId base = n.input(0);
  const DType exponent = n.dtype(n.input(1));
  if (n.dtype(base).is_int() && exponent.is_float()) {
    const NodeId wide = n.call("power", {n.cast(base, exponent), n.input(1)});
    return {n.cast(wide, n.dtype(base))};
  }
  return {n.call("power", {base, n.cast(n.input(1), n.dtype(base))})};
}

std::vector<NodeId> convert_cast(Node& n) {
  const auto to = onnx_dtype(static_cast<int>(n.int_attr("to", 0)));
  if (!to) n.unsupported("its target data type");
  return {n.cast(n.input(0), *to)};
}

std::vector<NodeId> convert_cast_like(Node& n) { return {n.cast(n.input(0), n.dtype(n.input(1)))}; }

std::vector<NodeId> convert_mod(Node& n) {
  const bool truncating = n.int_attr("fmod", 0) != 0;
  return {n.call(truncating ? "mod" : "floor_mod", {n.input(0), n.input(1)})};
}

std::vector<NodeId> convert_leaky_relu(Node& n) {
  return {n.call("nn.leaky_relu", {n.input(0)}, {{"alpha", n.float_attr("alpha", 0.01)}})};
}
std::vector<NodeId> convert_elu(Node& n) {
  return {n.call("nn.elu", {n.input(0)}, {{"alpha", n.float_attr("alpha", 1)}})};
}
std::vector<NodeId> convert_celu(Node& n) {
  return {n.call("nn.celu", {n.input(0)}, {{"alpha", n.float_attr("alpha", 1)}})};
}
std::vector<NodeId> convert_selu(Node& n) {
  return {n.call("nn.selu", {n.input(0)},
                 {{"alpha", n.float_attr("alpha", 1.67326319217681884765625)},
                  {"gamma", n.float_attr("gamma", 1.05070102214813232421875)}})};
}
std::vector<NodeId> convert_thresholded_relu(Node& n) {
  return {n.call("nn.thresholded_relu", {n.input(0)}, {{"alpha", n.float_attr("alpha", 1)}})};
}
std::vector<NodeId> convert_hard_sigmoid(Node& n) {
  return {n.call("nn.hard_sigmoid", {n.input(0)},
                 {{"alpha", n.float_attr("alpha", 0.2)}, {"beta", n.float_attr("beta", 0.5)}})};
}
std::vector<NodeId> convert_shrink(Node& n) {
  return {n.call("nn.shrink", {n.input(0)},
                 {{"lambd", n.float_attr("lambd", 0.5)}, {"bias", n.float_attr("bias", 0)}})};
}

// Slopes broadcast from the right, whatever axis the record's operator has.
std::vector<NodeId> convert_prelu(Node& n) {
  const NodeId x = n.input(0), slope = n.input(1);
  const NodeId zero = n.scalar(0, n.dtype(x));
  return {n.call("where", {n.call("less", {x, zero}), n.call("multiply", {x, slope}), x})};
}

// Exact, or with the tanh approximation, as the fused operator has them.
std::vector<NodeId> convert_gelu(Node& n) {
  return {n.call("nn.gelu", {n.input(0)}, {{"approximate", n.string_attr("approximate", "none")}})};
}

std::vector<NodeId> convert_bit_shift(Node& n) {
  const bool left = n.string_attr("direction", "LEFT") == "LEFT";
  return {n.call(left ? "left_shift" : "right_shift", {n.input(0), n.input(1)})};
}

std::vector<NodeId> convert_is_inf(Node& n) {
  const NodeId x = n.input(0), zero = n.scalar(0, n.dtype(x));
  const bool negative = n.int_attr("detect_negative", 1) != 0;
  const bool positive = n.int_attr("detect_positive", 1) != 0;
  NodeId result = n.call("isinf", {x});
  if (!negative) result = n.call("logical_and", {result, n.call("greater", {x, zero})});
  if (!positive) result = n.call("logical_and", {result, n.call("less", {x, zero})});
  return {result};
}

constexpr Converter kTable[] = {
    {"Max", 1, convert_max},
    {"Min", 1, convert_min},
    {"Sum", 1, convert_sum},
    {"Mean", 1, convert_mean},
    {"Clip", 1, convert_clip_attrs},
    {"Clip", 11, convert_clip},
    {"Pow", 7, convert_pow},
    {"Cast", 6, convert_cast},
    {"CastLike", 15, convert_cast_like},
    {"Mod", 10, convert_mod},
    {"LeakyRelu", 6, convert_leaky_relu},
    {"Elu", 6, convert_elu},
    {"Celu", 12, convert_celu},
    {"Selu", 6, convert_selu},
    {"ThresholdedRelu", 10, convert_thresholded_relu},
    {"HardSigmoid", 6, convert_hard_sigmoid},
    {"Shrink", 9, convert_shrink},
    {"PRelu", 7, convert_prelu},
    {"Gelu", 20, convert_gelu},
    {"BitShift", 11, convert_bit_shift},
    {"IsInf", 10, convert_is_inf},
};

}  // namespace

extern const std::span<const Converter> elementwise_converters;
const std::span<const Converter> elementwise_converters = kTable;

}  // namespace tessera::import
