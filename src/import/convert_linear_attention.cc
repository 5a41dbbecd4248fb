// SPDX-License-Identifier: Apache-2.0
// LinearAttention and CausalConvWithState: what language models with a state of fixed size have in
// place of attention over all tokens before.
#include <cmath>

#include "import/converters.h"
#include "import/value.h"

namespace tessera::import {
namespace {

// ---- CausalConvWithState ----

// The operand (batch, channels, length) after the last elements of the one before it, or zeros.
Value with_past(Value x, std::int64_t count) {
  Node& n = x.node();
  if (n.has_input(3)) return count == 0 ? x : concat(n, {input(n, 3).cast(x.dtype()), x}, 2);
  const relay::AttrArray width{relay::AttrArray{0, 0}, relay::AttrArray{0, 0},
                               relay::AttrArray{count, 0}};
  return {n, n.call("nn.pad", {x, x.number(0)}, {{"pad_width", width}})};
}

std::vector<NodeId> convert_causal_conv(Node& n) {
  const Value x = input(n, 0), weight = input(n, 1);
  if (x.rank() != 3 || weight.rank() != 3 || weight.size(1) != 1 || weight.size(2) < 1) {
    n.invalid(Code::kShapeMismatch,
              "it needs an input of 3 dimensions and a weight (channels, 1, size)");
  }
  const std::int64_t channels = weight.size(0), size = weight.size(2), past = size - 1;
  if (n.has_input(3)) n.input(3);
  const Value all = with_past(x, past);
  Value y(n, n.call("nn.conv1d", {all, weight},
                    {{"channels", channels}, {"kernel_size", Ints{size}}, {"groups", channels}}));
  if (n.has_input(2)) y = {n, n.call("nn.bias_add", {y, n.input(2)}, {{"axis", 1}})};
  const std::string activation = n.string_attr("activation", "none");
  if (activation == "silu" || activation == "swish") {
    y = y * y.apply("sigmoid");
  } else if (activation != "none") {
    n.invalid(Code::kWrongAttribute, fmt::format("it has no activation \"{}\"", activation));
  }
  const Value length = size_of(x, 2), last = iota(n, past) + length;
  return {y, all.take(last, 2)};
}

// ---- LinearAttention ----

// The operands by time, in float32 or wider: queries (batch, time, heads, group, keys), the others
// (batch, time, heads, size).
struct LinearOperands {
  Value query, key, value;
  std::optional<Value> decay, beta;
  double scale = 1;

  std::vector<NodeId> all() const {
    std::vector<NodeId> ids{query, key, value};
    if (decay) ids.push_back(*decay);
    if (beta) ids.push_back(*beta);
    return ids;
  }
  LinearOperands with(Node& n, std::span<const NodeId> ids) const {
    LinearOperands o{{n, ids[0]}, {n, ids[1]}, {n, ids[2]}, decay, beta, scale};
    if (decay) o.decay = Value(n, ids[3]);
    if (beta) o.beta = Value(n, ids.back());
    return o;
  }
};

// The last dimension of (batch, time, count * size) as two.
Value by_heads(Value x, std::int64_t count) { return x.split(2, count); }

LinearOperands linear_operands(Node& n, DType wide) {
  const std::int64_t heads = n.need_int_attr("kv_num_heads");
  const std::int64_t all_heads = n.need_int_attr("q_num_heads");
  for (std::size_t i = 0; i < 3; ++i) {
    if (n.rank(n.input(i)) != 3) n.invalid(Code::kShapeMismatch, "its operands have 3 dimensions");
  }
  if (heads < 1 || all_heads < 1 || all_heads % heads != 0) {
    n.invalid(Code::kWrongAttribute, "q_num_heads is no multiple of kv_num_heads");
  }
  const std::string rule = n.string_attr("update_rule", "gated_delta");
  const bool gated = rule.starts_with("gated"), delta = rule.ends_with("delta");
  if (!gated && !delta && rule != "linear") {
    n.invalid(Code::kWrongAttribute, fmt::format("it has no update_rule \"{}\"", rule));
  }
  n.ignore_attr("chunk_size");  // a hint
  const auto wide_operand = [&](std::size_t i) { return input(n, i).cast(wide); };
  LinearOperands o{by_heads(wide_operand(0), all_heads).split(2, heads),
                   by_heads(wide_operand(1), heads),
                   by_heads(wide_operand(2), heads),
                   {},
                   {}};
  const double scale = n.float_attr("scale", 0);
  o.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(o.key.size(3)));
  if (gated) o.decay = by_heads(wide_operand(4), heads).apply("exp");
  if (delta) {
    const Value beta = wide_operand(5);
    o.beta = beta.size(2) == 1 ? beta.expand_dims(3) : by_heads(beta, heads);
  }
  for (const std::size_t i : {4, 5}) {
    if (n.has_input(i)) n.ignore_input(i);  // which the rule does not use
  }
  return o;
}

// The state (batch, heads, keys, values) after the token t, and what it gives: (batch, heads *
// group * values).
struct Token {
  Value state, result;
};
Token token(const LinearOperands& o, Value state, Value t) {
  const auto now = [&](Value x) { return x.take(t, 1); };
  const Value key = now(o.key).expand_dims(3);
  Value value = now(o.value).expand_dims(2);
  if (o.decay) state = state * now(*o.decay).expand_dims(3);
  if (o.beta) {
    const Value missing = value - (state * key).sum({2}), rate = now(*o.beta).expand_dims(3);
    value = missing * rate;
  }
  state = state + key * value;
  const Value query = now(o.query);
  const Value y = query.matmul(state) * o.scale;
  const Dim width = state.dim(1) * query.dim(2) * state.dim(3);
  return {state, y.reshape_to({state.dim(0), width})};
}

std::vector<NodeId> convert_linear_attention(Node& n) {
  const DType dtype = n.dtype(n.input(0)), wide = dtype == kFloat64 ? kFloat64 : kFloat32;
  const LinearOperands o = linear_operands(n, wide);
  const Shape& value = o.value.shape();
  const Shape state_shape{value[0], value[2], o.key.dim(3), value[3]};
  const Value zero(n, n.scalar(0, wide));
  Value state =
      n.has_input(3) ? input(n, 3).cast(wide) : Value(n, n.broadcast_to(zero, state_shape));
  const Dim width = value[2] * o.query.dim(3) * value[3];
  constexpr std::int64_t kMostUnrolled = 16;
  const auto count = value[1].as_constant();
  if (count && *count >= 1 && *count <= kMostUnrolled) {
    std::vector<Value> rows;
    for (std::int64_t t = 0; t < *count; ++t) {
      const Token done = token(o, state, Value(n, n.constant(Tensor::scalar(t, kInt64))));
      rows.push_back(done.result);
      state = done.state;
    }
    return {stack(n, rows, 1).cast(dtype),
            state.cast(n.has_input(3) ? n.dtype(n.input(3)) : dtype)};
  }
  const NodeId rows = n.broadcast_to(zero, {value[1], value[0], width});
  const auto iterate = [&](NodeId iteration, std::span<const NodeId> now,
                           std::span<const NodeId> read) -> std::vector<NodeId> {
    const Token done = token(o.with(n, read), Value(n, now[0]), Value(n, iteration));
    return {done.state, n.call("update_row", {now[1], done.result, iteration})};
  };
  const std::vector<NodeId> carried{state, rows};
  const std::vector<NodeId> last = n.repeat(size_of(o.value, 1), carried, o.all(), iterate);
  const Value y = Value(n, last[1]).transpose({1, 0, 2});
  return {y.cast(dtype), n.cast(last[0], n.has_input(3) ? n.dtype(n.input(3)) : dtype)};
}

constexpr Converter kLinearAttentionTable[] = {
    {"CausalConvWithState", 27, convert_causal_conv},
    {"LinearAttention", 27, convert_linear_attention},
};

}  // namespace

extern const std::span<const Converter> linear_attention_converters;
const std::span<const Converter> linear_attention_converters = kLinearAttentionTable;

}  // namespace tessera::import
