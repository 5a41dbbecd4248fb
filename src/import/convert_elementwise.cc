// SPDX-License-Identifier: Apache-2.0
// Element-wise operators whose ONNX form differs from the record's: variadic ones, Clip, Pow, Cast,
// ...
#include <cmath>
#include <limits>

#include "import/converters.h"
#include "import/narrow.h"

namespace tessera::import {
namespace {

// Until opset 6 the second operand is broadcast only if asked for, and its dimensions begin at
// `axis` of the first operand's.
NodeId aligned(Node& n, NodeId a, NodeId b) {
  if (n.opset() >= 7) return b;
  if (!n.flag_attr("broadcast", false)) {
    n.ignore_attr("axis");
    return b;
  }
  const std::int64_t rank = n.rank(a);
  const std::int64_t axis = n.axis(n.int_attr("axis", rank - n.rank(b)), rank + 1);
  Ints shape = n.sizes(b);
  if (axis + n.rank(b) > rank)
    n.invalid(Code::kWrongAttribute, "its axis lies outside of its input");
  shape.resize(static_cast<std::size_t>(rank - axis), 1);
  return n.reshape(b, shape);
}

template <const char* kOp>
std::vector<NodeId> binary(Node& n) {
  const NodeId a = n.input(0);
  return {n.call(kOp, {a, aligned(n, a, n.input(1))})};
}
constexpr char kAdd[] = "add", kSubtract[] = "subtract", kMultiply[] = "multiply",
               kDivide[] = "divide", kEqual[] = "equal", kLess[] = "less", kGreater[] = "greater",
               kAnd[] = "logical_and", kOr[] = "logical_or", kXor[] = "logical_xor",
               kPower[] = "power";

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
  const double least = n.float_attr("min", std::numeric_limits<float>::lowest());
  const double most = n.float_attr("max", std::numeric_limits<float>::max());
  return {n.call("clip", {n.input(0)}, {{"a_min", least}, {"a_max", most}})};
}

// Bounds that are known become attributes, so that back ends can fuse them.
std::vector<NodeId> convert_clip(Node& n) {
  NodeId x = n.input(0);
  const bool lower = n.has_input(1), upper = n.has_input(2);
  const auto low = lower ? n.known_number(1) : std::nullopt;
  const auto high = upper ? n.known_number(2) : std::nullopt;
  if (n.dtype(x).is_float() && low && high) {
    return {
        n.call("clip", {x},
               {{"a_min", element_as_double(*low, 0)}, {"a_max", element_as_double(*high, 0)}})};
  }
  if (lower) x = n.call("maximum", {x, n.reshape(n.input(1), {})});
  if (upper) x = n.call("minimum", {x, n.reshape(n.input(2), {})});
  return {x};
}

// Where the exponent is whole, the power is one of integers, which is exact. By way of float64
// others are cut off towards zero, as onnxruntime does.
Value int_to_float_power(Value base, Value exponent) {
  const DType type = base.dtype();
  const auto whole = [&] { return power(base.cast(kInt64), exponent.cast(kInt64)).cast(type); };
  const auto general = [&] {
    return power(base.cast(kFloat64), exponent.cast(kFloat64)).cast(type);
  };
  if (const auto known = base.node().constant(exponent); known && known->num_elements() == 1) {
    const double value = element_as_double(*known, 0);
    return value == std::trunc(value) ? whole() : general();
  }
  return where(equal(exponent, exponent.apply("trunc")), whole(), general());
}

// The exponent may have another type than the base, which the result has. One of more bits keeps
// them: 2 to the power of 2^32 is not that of 0.
std::vector<NodeId> convert_pow(Node& n) {
  const Value base(n, n.input(0)), exponent(n, n.input(1));
  const DType type = base.dtype();
  if (!type.is_int()) return {power(base, exponent.cast(type))};
  if (exponent.dtype().is_float()) return {int_to_float_power(base, exponent)};
  const DType wide = exponent.dtype().bits < type.bits ? type : exponent.dtype();
  return {power(base.cast(wide), exponent.cast(wide)).cast(type)};
}

std::vector<NodeId> cast_to_narrow(Node& n, int type) {
  n.set_narrow_output(0, type);
  return {narrowed(wide_input(n, 0), type, n.flag_attr("saturate", true))};
}

std::vector<NodeId> convert_cast(Node& n) {
  n.need_int_attr("to");
  n.ignore_attr("round_mode");  // of float8 without a sign, which is refused
  if (const int narrow = n.narrow_type_attr("to")) return cast_to_narrow(n, narrow);
  n.ignore_attr("saturate");
  return {wide_input(n, 0).cast(n.dtype_attr("to", kFloat32))};
}

std::vector<NodeId> convert_cast_like(Node& n) {
  const DType dtype = n.dtype(n.input(1));
  n.ignore_attr("round_mode");
  if (const int narrow = n.narrow_type(1)) return cast_to_narrow(n, narrow);
  n.ignore_attr("saturate");
  return {wide_input(n, 0).cast(dtype)};
}

// For integers alone: their bits are those of the number that is left where it does not fit.
std::vector<NodeId> convert_bit_cast(Node& n) {
  const Value x = input(n, 0);
  n.need_int_attr("to");
  const DType to = n.dtype_attr("to", kInt32);
  if (to.bits != x.dtype().bits) n.invalid(Code::kWrongAttribute, "its types differ in their bits");
  if (to == x.dtype()) return {x};
  const bool is_whole = to.is_int() && (x.dtype().is_int() || x.dtype().is_bool());
  if (!is_whole) n.unsupported("a float as its input or result");
  return {x.cast(to)};
}

std::vector<NodeId> convert_mod(Node& n) {
  const bool truncating = n.int_attr("fmod", 0) != 0;
  return {n.call(truncating ? "mod" : "floor_mod", {n.input(0), n.input(1)})};
}

// Mod of opset 28, which says what floats give: by something infinite, the number or, if it has the
// other sign, what it is divided by.
std::vector<NodeId> convert_mod28(Node& n) {
  const Value rest(n, convert_mod(n)[0]);
  const Value a = input(n, 0), b = input(n, 1);
  if (!rest.dtype().is_float() || n.int_attr("fmod", 0) != 0) return {rest};
  const Value is_finite = a.apply("isfinite"), by_infinite = b.apply("isinf") && is_finite;
  const Value a_below = a < 0.0, b_below = b < 0.0, is_zero = equal(a, 0.0);
  const Value keeps = equal(a_below, b_below) || is_zero, whole = where(keeps, a, b);
  return {where(by_infinite, whole, rest)};
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

// A slope for each channel is the operator's own form; any other is composed.
std::vector<NodeId> convert_prelu(Node& n) {
  const Value x = input(n, 0);
  Value slope = input(n, 1);
  if (n.opset() < 7 && slope.rank() == 1 && slope.size(0) > 1) slope = along(slope, 1, x.rank());
  const Ints sizes = slope.sizes();
  const std::int64_t axis =
      x.rank() - slope.rank() + (slope.rank() > 1 && slope.rank() < x.rank() ? 0 : 1);
  if (slope.rank() >= 1 && x.rank() >= 2 && axis == 1 && product(sizes) == x.size(1) &&
      sizes[x.rank() == slope.rank() ? 1 : 0] == x.size(1)) {
    return {n.call("nn.prelu", {x, slope.reshape({x.size(1)})}, {{"axis", 1}})};
  }
  return {where(x < 0, x * slope, x)};
}

Value tanh_gelu(Value x) {
  const Value inner = (x + x * x * x * 0.044715) * 0.7978845608028654;
  return x * 0.5 * (inner.apply("tanh") + 1.0);
}

// Exact, or with the tanh approximation.
std::vector<NodeId> convert_gelu(Node& n) {
  const std::string form = n.string_attr("approximate", "none");
  const Value x = input(n, 0);
  if (form == "none") return {n.call("nn.gelu", {x})};
  if (form != "tanh") n.invalid(Code::kWrongAttribute, "approximate is \"none\" or \"tanh\"");
  return {tanh_gelu(x)};
}

// The operand of an activation that onnxruntime's optimiser has fused: 16 bits are too few for what
// lies between.
Value with_bias(Node& n) {
  const Value x = input(n, 0);
  const Value wide = x.dtype().bits < 32 ? x.cast(kFloat32) : x;
  return n.has_input(1) ? wide + input(n, 1).cast(wide.dtype()) : wide;
}

std::vector<NodeId> convert_bias_gelu(Node& n) {
  return {with_bias(n).apply("nn.gelu").cast(n.dtype(n.input(0)))};
}
std::vector<NodeId> convert_fast_gelu(Node& n) {
  return {tanh_gelu(with_bias(n)).cast(n.dtype(n.input(0)))};
}
std::vector<NodeId> convert_quick_gelu(Node& n) {
  const Value x = with_bias(n);
  const double alpha = n.float_attr("alpha", 1.702);
  return {(x * (alpha == 1 ? x : x * alpha).apply("sigmoid")).cast(n.dtype(n.input(0)))};
}

std::vector<NodeId> convert_swish(Node& n) {
  const Value x = input(n, 0);
  const double alpha = n.float_attr("alpha", 1);
  return {x * (alpha == 1 ? x : x * alpha).apply("sigmoid")};
}

std::vector<NodeId> convert_reciprocal(Node& n) { return {1.0 / input(n, 0)}; }

std::vector<NodeId> convert_bit_shift(Node& n) {
  const bool left = n.string_attr("direction", "LEFT") == "LEFT";
  return {n.call(left ? "left_shift" : "right_shift", {n.input(0), n.input(1)})};
}

// By less than nothing, or by all bits and more, only the sign is left, which a shift to the left
// pushes out too.
std::vector<NodeId> convert_bit_shift28(Node& n) {
  const Value x = input(n, 0), by = input(n, 1);
  const bool left = n.string_attr("direction", "LEFT") == "LEFT";
  const double bits = x.dtype().bits;
  const Value is_not_negative = by >= 0.0, is_small = by < bits, fits = is_not_negative && is_small;
  const bool keeps_sign = !left && x.dtype().is_signed_int();
  const Value other = by.number(keeps_sign ? bits - 1 : 0);
  const Value y(n,
                n.call(left ? "left_shift" : "right_shift", {x, NodeId(where(fits, by, other))}));
  if (keeps_sign) return {y};
  const Value nothing = y.number(0);
  return {where(fits, y, nothing)};
}

std::vector<NodeId> convert_swiglu(Node& n) {
  const Value a = input(n, 0), b = input(n, 1);
  const Value gate = (a * n.float_attr("alpha", 1)).apply("sigmoid");
  return {a * gate * b};
}

std::vector<NodeId> convert_is_inf(Node& n) {
  const Value x = input(n, 0);
  const bool negative = n.flag_attr("detect_negative", true);
  const bool positive = n.flag_attr("detect_positive", true);
  Value result = x.apply("isinf");
  if (!negative) result = result && x > 0;
  if (!positive) result = result && x < 0;
  return {result};
}

constexpr Converter kElementwiseTable[] = {
    {"Add", 1, binary<kAdd>},
    {"Sub", 1, binary<kSubtract>},
    {"Mul", 1, binary<kMultiply>},
    {"Div", 1, binary<kDivide>},
    {"Pow", 1, binary<kPower>},
    {"Equal", 1, binary<kEqual>},
    {"Less", 1, binary<kLess>},
    {"Greater", 1, binary<kGreater>},
    {"And", 1, binary<kAnd>},
    {"Or", 1, binary<kOr>},
    {"Xor", 1, binary<kXor>},
    {"Max", 1, convert_max},
    {"Min", 1, convert_min},
    {"Sum", 1, convert_sum},
    {"Mean", 1, convert_mean},
    {"Clip", 1, convert_clip_attrs},
    {"Clip", 11, convert_clip},
    {"Pow", 7, convert_pow},
    {"Cast", 6, convert_cast},
    {"CastLike", 15, convert_cast_like},
    {"BitCast", 26, convert_bit_cast},
    {"Mod", 10, convert_mod},
    {"Mod", 28, convert_mod28},
    {"LeakyRelu", 1, convert_leaky_relu},
    {"Elu", 1, convert_elu},
    {"Celu", 12, convert_celu},
    {"Selu", 1, convert_selu},
    {"ThresholdedRelu", 10, convert_thresholded_relu},
    {"HardSigmoid", 1, convert_hard_sigmoid},
    {"Shrink", 9, convert_shrink},
    {"PRelu", 1, convert_prelu},
    {"Reciprocal", 1, convert_reciprocal},
    {"Gelu", 20, convert_gelu},
    {"com.microsoft.Gelu", 1, convert_bias_gelu},
    {"com.microsoft.BiasGelu", 1, convert_bias_gelu},
    {"com.microsoft.FastGelu", 1, convert_fast_gelu},
    {"com.microsoft.QuickGelu", 1, convert_quick_gelu},
    {"Swish", 24, convert_swish},
    {"BitShift", 11, convert_bit_shift},
    {"BitShift", 28, convert_bit_shift28},
    {"SwiGLU", 28, convert_swiglu},
    {"IsInf", 10, convert_is_inf},
};

}  // namespace

extern const std::span<const Converter> elementwise_converters;
const std::span<const Converter> elementwise_converters = kElementwiseTable;

}  // namespace tessera::import
