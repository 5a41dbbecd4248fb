// SPDX-License-Identifier: Apache-2.0
// Attention of ONNX.
#include "import/attention.h"
#include "import/converters.h"

namespace tessera::import {
namespace {

// Queries, keys and values as heads, keys and values with those of the cache before them.
Attention read_heads(Node& n) {
  Value q = input(n, 0), k = input(n, 1), v = input(n, 2);
  if (q.rank() != k.rank() || q.rank() != v.rank()) {
    n.invalid(Code::kShapeMismatch, "its queries, keys and values differ in rank");
  }
  const std::int64_t q_heads = n.int_attr("q_num_heads", 0), heads = n.int_attr("kv_num_heads", 0);
  if (q.rank() == 3) {
    q = heads_of(q, q_heads);
    k = heads_of(k, heads);
    v = heads_of(v, heads);
  }
  if (n.has_input(4) != n.has_input(5))
    n.invalid(Code::kWrongArity, "it needs both caches or none");
  if (n.has_input(4)) {
    k = concat(n, {input(n, 4), k}, 2);
    v = concat(n, {input(n, 5), v}, 2);
  }
  Attention a = attention_of(q, k, v);
  a.scale = n.float_attr("scale", default_scale(q));
  return a;
}

KeyWindow key_window(Node& n) {
  const std::int64_t before = n.int_attr("left_window_size", -1);
  const std::int64_t after = n.int_attr("right_window_size", -1);
  if (before < -1 || after < -1) {
    n.invalid(Code::kWrongAttribute,
              fmt::format("its window is {} keys before a query and {} after "
                          "it; -1 stands for all",
                          before, after));
  }
  KeyWindow window;
  if (before >= 0) window.before = before;
  if (after >= 0) window.after = after;
  if (n.flag_attr("is_causal", false)) window.after = 0;
  return window;
}

void add_masks(Node& n, Attention& a) {
  if (n.has_input(3)) {
    a.masks.push_back(padded_mask(input(n, 3), a.k));
    a.may_hide_a_row = true;
  }
  Value offset(n, n.scalar(0, kInt64));
  if (n.has_input(4)) offset = sizes_of(input(n, 4), 2, 3).reshape({});
  const KeyWindow window = key_window(n);
  if (n.has_input(6)) {
    if (n.has_input(4)) n.invalid(Code::kWrongArity, "it has a cache beside nonpad_kv_seqlen");
    const Value keys = input(n, 6);
    if (keys.rank() != 1) {
      n.invalid(Code::kShapeMismatch, "its nonpad_kv_seqlen is not one number for each sample");
    }
    offset = keys - sizes_of(a.q, 2, 3);
    a.may_hide_a_row = true;
    a.masks.push_back(iota_along(a.k, 2) < keys.expand_dims(1).expand_dims(1).expand_dims(1));
  }
  if (const auto seen = window_mask(a.q, a.k, offset, window)) {
    a.masks.push_back(*seen);
    a.may_hide_a_row |= window.before.has_value();
  }
}

std::optional<DType> softmax_precision(Node& n) {
  if (!n.has_attr("softmax_precision")) return std::nullopt;
  const DType type = n.dtype_attr("softmax_precision", kFloat32);
  if (!type.is_float()) {
    n.invalid(Code::kWrongAttribute,
              fmt::format("its softmax_precision is {}, which is no float", to_string(type)));
  }
  return type;
}

std::vector<NodeId> convert_attention(Node& n) {
  Attention a = read_heads(n);
  a.softcap = n.float_attr("softcap", 0);
  a.precision = softmax_precision(n);
  add_masks(n, a);
  const std::int64_t mode = n.int_attr("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) {
    n.invalid(Code::kWrongAttribute, fmt::format("its qk_matmul_output_mode is {}", mode));
  }
  const AttentionSteps steps = attend(a);
  const Value chosen[] = {steps.scores, steps.capped, steps.masked, steps.weights};
  const Value y = n.rank(n.input(0)) == 3 ? rows_of_heads(steps.y) : steps.y;
  return {y, a.k, a.v, chosen[mode]};
}

constexpr Converter kAttentionTable[] = {
    {"Attention", 23, convert_attention},
};

}  // namespace

extern const std::span<const Converter> attention_converters;
const std::span<const Converter> attention_converters = kAttentionTable;

}  // namespace tessera::import
