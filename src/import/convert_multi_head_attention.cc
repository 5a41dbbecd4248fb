// SPDX-License-Identifier: Apache-2.0
// MultiHeadAttention of onnxruntime: attention of rows that an input projection gives, whose bias
// it adds, and that may be packed.
#include <optional>

#include "import/attention.h"
#include "import/converters.h"

namespace tessera::import {
namespace {

// By the node's inputs.
enum Operand : std::size_t {
  kQueries,
  kKeys,
  kValues,
  kProjectionBias,
  kPadding,
  kScoreBias,
  kKeyCache,
  kValueCache,
  kCacheLength,
  kBeams
};

// The part of [batch, row, head, part, element] as rows.
Value unpacked(Value packed, std::int64_t part) { return packed.at(3, part).merge(2, 4); }

struct Rows3 {
  Value q;
  std::optional<Value> k, v;  // none: keys and values come as heads
};

Rows3 rows_of_inputs(Node& n) {
  const Value first = input(n, kQueries);
  if (first.rank() == 5) return {unpacked(first, 0), unpacked(first, 1), unpacked(first, 2)};
  const Value keys = input(n, kKeys);
  if (keys.rank() == 5) return {first, unpacked(keys, 0), unpacked(keys, 1)};
  if (keys.rank() == 4) return {first, {}, {}};
  return {first, keys, input(n, kValues)};
}

// The rows and what the projection adds to them: elements from `begin` on of one list for all.
Value biased(Value rows, std::int64_t begin) {
  Node& n = rows.node();
  if (!n.has_input(kProjectionBias)) return rows;
  const Value part = input(n, kProjectionBias).slice(0, begin, begin + rows.size(2));
  if (part.rank() == 1 && part.size(0) == rows.size(2)) return rows + part;
  n.invalid(Code::kShapeMismatch,
            "its bias has not an element for each of a row of queries, keys "
            "and values");
}

Attention attention_of_inputs(Node& n) {
  const std::int64_t heads = n.need_int_attr("num_heads");
  const Rows3 rows = rows_of_inputs(n);
  if (rows.q.rank() != 3) n.invalid(Code::kShapeMismatch, "its queries have not three dimensions");
  const std::int64_t width = rows.q.size(2);
  const Value q = heads_of(biased(rows.q, 0), heads);
  if (!rows.k) {  // heads that are computed elsewhere, bias and all
    if (n.has_input(kKeyCache)) n.unsupported("a cache beside heads of keys");
    return attention_of(q, input(n, kKeys), input(n, kValues));
  }
  const Value k = heads_of(biased(*rows.k, width), heads);
  const Value v = heads_of(biased(*rows.v, 2 * width), heads);
  if (n.has_input(kKeyCache) != n.has_input(kValueCache)) {
    n.invalid(Code::kWrongArity, "it needs both caches or none");
  }
  if (!n.has_input(kKeyCache)) return attention_of(q, k, v);
  return attention_of(q, concat(n, {input(n, kKeyCache), k}, 2),
                      concat(n, {input(n, kValueCache), v}, 2));
}

// What is added where a key is padding: [batch, 1, 1 or row, key].
Value padding_mask(Node& n, const Attention& a) {
  Value given = input(n, kPadding);
  if (given.rank() == 1) {
    // Lengths of sequences; those with their places have more elements than there are sequences.
    if (provably_equal(given.dim(0), a.q.dim(0)) != Tri::kYes) {
      n.unsupported("a key_padding_mask that is no length for each sequence");
    }
    given = (iota_along(a.k, 2) < given.cast(kInt64).expand_dims(1)).cast(kInt32);
  } else {
    if (given.rank() != 2 && given.rank() != 3) {
      n.invalid(Code::kShapeMismatch,
                fmt::format("its key_padding_mask has the shape {}", to_string(given.shape())));
    }
    given = given.matched(given.rank() - 1, a.k, 2);
  }
  const Value hidden = a.q.number(n.float_attr("mask_filter_value", -10000));
  const Value added = where(equal(given, 0.0), hidden, hidden.number(0));
  return given.rank() == 3 ? added.expand_dims(1) : added.expand_dims(1).expand_dims(1);
}

void add_score_masks(Node& n, Attention& a) {
  if (n.has_input(kPadding)) a.masks.push_back(padding_mask(n, a));
  n.ignore_attr("mask_filter_value");
  if (n.has_input(kScoreBias)) a.masks.push_back(input(n, kScoreBias));
  if (!n.flag_attr("unidirectional", false)) return;
  Value offset(n, n.scalar(0, kInt64));
  if (n.has_input(kKeyCache)) {
    offset = sizes_of(input(n, kKeyCache), 2, 3).reshape({});
  } else if (provably_equal(a.q.dim(2), a.k.dim(2)) != Tri::kYes) {
    n.unsupported("unidirectional = 1 for keys that are not those of the queries");
  }
  a.masks.push_back(*window_mask(a.q, a.k, offset, {{}, 0}));
}

std::vector<NodeId> convert_multi_head_attention(Node& n) {
  if (n.has_input(kCacheLength) || n.has_input(kBeams)) n.unsupported("a cache that is one buffer");
  Attention a = attention_of_inputs(n);
  a.scale = n.float_attr("scale", 0);
  if (a.scale == 0) a.scale = default_scale(a.q);
  add_score_masks(n, a);
  return {rows_of_heads(attend(a).y), a.k, a.v};
}

constexpr Converter kMultiHeadAttentionTable[] = {
    {"com.microsoft.MultiHeadAttention", 1, convert_multi_head_attention},
};

}  // namespace

extern const std::span<const Converter> multi_head_attention_converters;
const std::span<const Converter> multi_head_attention_converters = kMultiHeadAttentionTable;

}  // namespace tessera::import
