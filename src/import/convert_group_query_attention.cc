// SPDX-License-Identifier: Apache-2.0
// GroupQueryAttention of onnxruntime: attention with a cache of keys and values whose sequences
// have lengths of their own, and with rotary embeddings of what enters it.
#include <optional>

#include "import/attention.h"
#include "import/converters.h"
#include "import/indices.h"
#include "import/rotary.h"

namespace tessera::import {
namespace {

// By the node's inputs.
enum Input : std::size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLastPlaces,  // of each sequence: its length with the new tokens, minus 1
  kTotal,       // the largest of these lengths
  kCos,
  kSin,
  kPositions,
  kBias,
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm,
  kQueryLengths
};

void check_supported(Node& n) {
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    if (n.string_attr(name, "NONE") != "NONE") n.unsupported("a cache of quantised values");
  }
  if (n.has_input(kKeyScale) || n.has_input(kValueScale) ||
      n.int_attr("kv_cache_bit_width", 0) != 0) {
    n.unsupported("a cache of quantised values");
  }
  if (n.flag_attr("sliding_window_cache", false)) n.unsupported("a cache of the window alone");
  if (n.int_attr("qk_output", 0) != 0) n.unsupported("the output of scores");
  if (!n.flag_attr("causal", true)) n.unsupported("attention to later tokens");
  if (n.has_input(kQueryLengths)) n.unsupported("queries of several lengths");
}

// Each head scaled to a root mean square of 1.
Value normed(Node& n, Value heads, std::size_t weight) {
  if (!n.has_input(weight)) return heads;
  const double epsilon = n.float_attr("qk_norm_epsilon", 1e-6);
  return {n,
          n.call("nn.rms_norm", {heads, input(n, weight)}, {{"axis", -1}, {"epsilon", epsilon}})};
}

Attention new_heads(Node& n) {
  const std::int64_t heads = n.need_int_attr("num_heads"), shared = n.need_int_attr("kv_num_heads");
  const Value all = input(n, kQuery);
  if (n.has_input(kKey) != n.has_input(kValue)) {
    n.invalid(Code::kWrongArity, "it needs keys and values, or neither");
  }
  if (n.has_input(kKey)) {
    const Value q = heads_of(all, heads);
    return attention_of(q, heads_of(input(n, kKey), shared), heads_of(input(n, kValue), shared));
  }
  const std::int64_t most = all.size(2);
  if (heads < 1 || heads > most || shared < 1 || shared > most) {
    n.invalid(Code::kShapeMismatch, fmt::format("rows of {} elements have not {} heads of queries, "
                                                "and {} of keys and of values",
                                                most, heads, shared));
  }
  const Value parts = all.split(2, heads + 2 * shared).transpose({0, 2, 1, 3});
  return attention_of(parts.slice(1, 0, heads), parts.slice(1, heads, heads + shared),
                      parts.slice(1, heads + shared, heads + 2 * shared));
}

// Where the new tokens stand, and what is before them.
struct Sequences {
  Value past;                 // the number of tokens before the new ones: [batch]
  Value is_first;             // do the sequences begin with the new tokens? a scalar
  Value total;                // a scalar
  std::optional<Dim> keys;    // the same as a size, where it is one
  std::optional<Dim> places;  // of the caches that are given back
  Value place;                // 0, 1, ... for each of these
};

Sequences sequences(Node& n, Value q, Value cache) {
  const Value total = input(n, kTotal).cast(kInt64).reshape({}), rows = sizes_of(q, 2, 3);
  const Value is_first = equal(total, rows.reshape({}));
  std::optional<Dim> keys, places;
  Value most = maximum(total, sizes_of(cache, 2, 3).reshape({}));
  const Dim room = cache.dim(2);
  if (const auto known = n.known_sizes(kTotal); known && known->size() == 1 && !room.is_unknown()) {
    keys = known->front();
    places = n.is_within(*keys, room) ? room : max(*keys, room);
    most = Value(n, n.sizes_of({*places})).reshape({});
  }
  const Value place(n, n.call("arange", {n.scalar(0, kInt64), most, n.scalar(1, kInt64)}));
  Value last = input(n, kLastPlaces).cast(kInt64);
  if (last.rank() != 1)
    n.invalid(Code::kShapeMismatch, "its seqlens_k is not one for each sequence");
  last = {n, checked_indices(n, last, place, {0})};
  const Value past = where(is_first, last.number(0), last + 1.0 - rows);
  return {past, is_first, total, keys, places, place};
}

// The positions of the new tokens: [batch, row].
Value positions(Node& n, const Sequences& s, Value q) {
  const Value row = iota_along(q, 2);
  if (!n.has_input(kPositions)) return s.past.expand_dims(1) + row;
  const Value given = input(n, kPositions).cast(kInt64);
  return where(s.is_first, given.at(0, 0).at(0, 0) + row, given);
}

void turn(Node& n, const Sequences& s, Attention& a) {
  if (!n.flag_attr("do_rotary", false)) {
    for (const std::size_t i : {kCos, kSin, kPositions}) n.ignore_input(i);
    n.ignore_attr("rotary_interleaved");
    return;
  }
  const Angles angles = for_heads(angles_at(positions(n, s, a.q), input(n, kCos), input(n, kSin),
                                            n.flag_attr("rotary_interleaved", false)),
                                  1);
  a.q = rotate(a.q, angles);
  a.k = rotate(a.k, angles);
}

// The cache with places for all tokens.
Value grown(Value cache, const Sequences& s) {
  Node& n = cache.node();
  const Dim room = cache.dim(2);
  if (s.places && provably_equal(*s.places, room) == Tri::kYes) return cache;
  const Value missing = s.places ? Value(n, n.sizes_of({*s.places - room}))
                                 : maximum(s.total.expand_dims(0) - sizes_of(cache, 2, 3), 0.0);
  const Value sizes = concat(n, {sizes_of(cache, 0, 2), missing, sizes_of(cache, 3, 4)}, 0);
  return concat(n, {cache, {n, n.call("dyn.full", {cache.number(0), sizes})}}, 2);
}

// The cache with the new tokens of each sequence after those that it has.
Value updated(Value cache, Value tokens, const Sequences& s) {
  Node& n = cache.node();
  const Value from = s.place - s.past.expand_dims(1);  // [batch, place]
  const Value taken(n, n.call("take", {tokens, from}, {{"axis", 2}, {"batch_dims", 1}}));
  const Value is_new = from >= 0.0 && from < sizes_of(tokens, 2, 3);
  return where(is_new.expand_dims(1).expand_dims(3), taken, grown(cache, s));
}

// The keys that may be seen, where the cache has room for more.
Value used(Value cache, const Sequences& s) {
  if (!s.keys || provably_equal(*s.keys, cache.dim(2)) == Tri::kYes) return cache;
  Node& n = cache.node();
  return {n, n.call("dyn.strided_slice", {cache, n.ints({0}), n.sizes_of({*s.keys}), n.ints({1})},
                    {{"axes", Ints{2}}, {"slice_mode", "size"}})};
}

void finish(Node& n, Attention& a, Value past) {
  a.scale = n.float_attr("scale", 0);
  if (a.scale == 0) a.scale = default_scale(a.q);
  a.softcap = n.float_attr("softcap", 0);
  if (n.has_input(kBias)) a.masks.push_back(padded_mask(input(n, kBias), a.k));
  KeyWindow window{{}, 0};
  const std::int64_t size = n.int_attr("local_window_size", -1);
  if (size == 0 || size < -1) {
    n.invalid(Code::kWrongAttribute, fmt::format("its local_window_size is {}", size));
  }
  if (size > 0) window.before = size - 1;
  a.masks.push_back(*window_mask(a.q, a.k, past, window));
  if (n.has_input(kSink)) a.sink = input(n, kSink);
  if (n.int_attr("smooth_softmax", -1) == 1 && !a.sink) {
    a.sink = zeros(n, {a.q.size(1)}, kFloat32);
  }
}

// An empty cache where none is given.
Value cache_of(Node& n, std::size_t i, Value tokens) {
  if (!n.has_input(i)) {
    const Value sizes =
        concat(n, {sizes_of(tokens, 0, 2), Value(n, n.ints({0})), sizes_of(tokens, 3, 4)}, 0);
    return {n, n.call("dyn.full", {tokens.number(0), sizes})};
  }
  const Value cache = input(n, i);
  if (cache.rank() == 4) return cache;
  n.invalid(Code::kShapeMismatch, "its caches have not the dimensions batch, head, place, element");
}

std::vector<NodeId> convert_group_query_attention(Node& n) {
  check_supported(n);
  Attention a = new_heads(n);
  a.q = normed(n, a.q, kQueryNorm);
  a.k = normed(n, a.k, kKeyNorm);
  n.ignore_attr("qk_norm_epsilon");
  if (n.has_input(kPastKey) != n.has_input(kPastValue)) {
    n.invalid(Code::kWrongArity, "it needs both caches or none");
  }
  const Value past_key = cache_of(n, kPastKey, a.k), past_value = cache_of(n, kPastValue, a.v);
  const Sequences s = sequences(n, a.q, past_key);
  turn(n, s, a);
  const Value keys = updated(past_key, a.k, s), values = updated(past_value, a.v, s);
  a.k = used(keys, s);
  a.v = used(values, s);
  finish(n, a, s.past);
  return {rows_of_heads(attend(a).y), keys, values};
}

constexpr Converter kGroupQueryAttentionTable[] = {
    {"com.microsoft.GroupQueryAttention", 1, convert_group_query_attention},
};

}  // namespace

extern const std::span<const Converter> group_query_attention_converters;
const std::span<const Converter> group_query_attention_converters = kGroupQueryAttentionTable;

}  // namespace tessera::import
