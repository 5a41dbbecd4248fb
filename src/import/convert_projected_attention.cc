// SPDX-License-Identifier: Apache-2.0
// Attention and QAttention of com.microsoft, as onnxruntime's optimiser and quantizer write them:
// one product makes queries, keys and values of the input.
#include <cmath>
#include <limits>

#include "import/converters.h"
#include "import/indices.h"
#include "import/quantization.h"

namespace tessera::import {
namespace {

// Which inputs are the mask, the past and what is added to scores.
struct Places {
  std::size_t mask, past, bias;
};

// (batch, heads, tokens, features of a head); those of values may differ in number.
struct Heads {
  Value queries, keys, values;
};

// The numbers of features of all heads together: of queries, keys and values.
Ints feature_counts(Node& n, std::int64_t all) {
  const Ints sizes = n.ints_attr("qkv_hidden_sizes", Ints(3, all / 3));
  const std::int64_t heads = n.need_int_attr("num_heads");
  if (sizes.size() != 3 || heads < 1) {
    n.invalid(Code::kWrongAttribute, "num_heads or qkv_hidden_sizes are not numbers of heads");
  }
  std::int64_t rest = all;
  for (const std::int64_t size : sizes) {
    if (size < 1 || size % heads != 0 || size > rest) {
      n.invalid(Code::kWrongAttribute,
                fmt::format("{} features are not those of {} heads", size, heads));
    }
    rest -= size;
  }
  if (rest != 0 || sizes[0] != sizes[1]) {
    n.invalid(Code::kWrongAttribute, "qkv_hidden_sizes do not fit its weights");
  }
  return sizes;
}

// `all`: (batch, tokens, features of queries, keys and values one after the other).
Heads heads_of(Value all) {
  Node& n = all.node();
  const Ints sizes = feature_counts(n, all.size(2));
  const std::int64_t heads = n.need_int_attr("num_heads");
  std::int64_t begin = 0;
  const auto next = [&](std::int64_t size) {
    const Value part = all.slice(2, begin, begin + size);
    begin += size;
    const Shape apart = {all.dim(0), all.dim(1), heads, size / heads};
    return part.reshape_to(apart).transpose({0, 2, 1, 3});
  };
  const Value queries = next(sizes[0]), keys = next(sizes[1]);
  return {queries, keys, next(sizes[2])};
}

// The mask's dimensions for scores of (batch, heads, queries, keys). Where it is true a key counts.
class Mask {
 public:
  Mask(Value index, Value queries, Value keys)
      : n_(index.node()), index_(index), queries_(queries), keys_(keys) {}

  std::optional<Value> kept() const {
    switch (index_.rank()) {
      case 1:
        return between_positions();
      case 2:
        return is_dummy() ? std::nullopt : std::optional(of_keys());
      case 3:
        return of_pairs();
      case 4:
        return of_longest();
      default:
        n_.invalid(Code::kShapeMismatch, "its mask has no or more than four dimensions");
    }
  }

 private:
  bool fits(std::size_t d, Dim size) const { return index_.shape()[d] == size; }
  Dim batch() const { return keys_.dim(0); }
  Dim num_keys() const { return keys_.dim(2); }
  [[noreturn]] void refuse() const {
    n_.unsupported(fmt::format("a mask of the shape {} for {} sequences and {} keys",
                               to_string(index_.shape()), to_string(batch()),
                               to_string(num_keys())));
  }

  // The ends of sequences, and after them, if they are given, their beginnings.
  Value between_positions() const {
    const bool has_begin = fits(0, batch() * Dim(2));
    if (!has_begin && !fits(0, batch())) refuse();
    const Value place = iota_along(keys_, 2, kInt32).expand_dims(0);
    const auto column = [](Value v) { return v.expand_dims(1); };
    if (!has_begin) return to_scores(place < column(index_));
    const Value rows = index_.reshape_to({Dim(2), batch()});
    return to_scores(place < column(rows.at(0, 0)) && place >= column(rows.at(0, 1)));
  }
  Value to_scores(Value kept) const { return kept.expand_dims(1).expand_dims(1); }

  // Is it for one key only, where there are more? Then it is there to be a mask.
  bool is_dummy() const {
    const auto keys = num_keys().as_constant();
    return fits(1, Dim(1)) && keys && *keys != 1 && (fits(0, Dim(1)) || fits(0, batch()));
  }
  Value of_keys() const {
    if (!fits(0, batch()) || !fits(1, num_keys())) refuse();
    return to_scores(index_ > 0.0);
  }
  Value of_pairs() const {
    if (!fits(0, batch()) || !fits(1, queries_.dim(2)) || !fits(2, num_keys())) refuse();
    return (index_ > 0.0).expand_dims(1);
  }
  // For the longest sequence: rows of the last tokens, and columns of those there are.
  Value of_longest() const {
    if (!fits(0, batch()) || !fits(1, Dim(1)) || !fits(2, index_.dim(3))) refuse();
    if (n_.flag_attr("unidirectional", false)) n_.unsupported("unidirectional with such a mask");
    const Value rows = take_checked(index_, query_places(queries_, keys_), 2);
    return take_checked(rows, iota_along(keys_, 2), 3) > 0.0;
  }

 public:
  // Queries are the last tokens.
  static Value query_places(Value queries, Value keys) {
    const Value past = sizes_of(keys, 2, 3) - sizes_of(queries, 2, 3);
    return iota_along(queries, 2) + past;
  }

 private:
  Node& n_;
  Value index_, queries_, keys_;
};

// What is added to scores in float32 last: nothing where a key counts.
std::optional<Value> penalty(Node& n, const Heads& h, const Places& places) {
  const double filtered = n.float_attr("mask_filter_value", -10000);
  const Value zero(n, n.scalar(0, kFloat32));
  std::optional<Value> sum;
  if (n.has_input(places.mask)) {
    const auto kept = Mask(input(n, places.mask), h.queries, h.keys).kept();
    if (kept) sum = where(*kept, zero, zero.number(filtered));
  }
  if (n.flag_attr("unidirectional", false)) {
    const Value query = Mask::query_places(h.queries, h.keys).expand_dims(1);
    const Value is_past = (iota_along(h.keys, 2).expand_dims(0) <= query);
    const Value future = zero.number(std::numeric_limits<float>::lowest());
    sum = where(is_past, sum.value_or(zero), future);
  }
  return sum;
}

Value attend(const Heads& h, const Places& places) {
  Node& n = h.queries.node();
  const double given = n.float_attr("scale", 0);
  const double scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(h.queries.size(3)));
  const Value products(n, n.call("nn.matmul", {h.queries, h.keys},
                                 {{"units", relay::AttrValue()}, {"transpose_b", true}}));
  Value scores = products.cast(kFloat32) * scale;
  if (n.has_input(places.bias)) scores = scores + input(n, places.bias).cast(kFloat32);
  if (const auto added = penalty(n, h, places)) scores = scores + *added;
  const Value weights = scores.apply("nn.softmax", {{"axis", -1}}).cast(h.values.dtype());
  const Value y = weights.matmul(h.values).transpose({0, 2, 1, 3});
  const Shape& shape = y.shape();
  return y.reshape_to({shape[0], shape[1], shape[2] * shape[3]});
}

std::vector<NodeId> attention(Value all, const Places& places) {
  Node& n = all.node();
  for (const char* other : {"do_rotary", "past_present_share_buffer"}) {
    if (n.flag_attr(other, false)) n.unsupported(other);
  }
  n.ignore_attr("rotary_embedding_dim");
  Heads h = heads_of(all);
  if (n.has_input(places.past)) {
    const Value past = input(n, places.past);
    if (past.rank() != 5) n.invalid(Code::kShapeMismatch, "its past must have five dimensions");
    h.keys = concat(n, {past.at(0, 0), h.keys}, 2);
    h.values = concat(n, {past.at(0, 1), h.values}, 2);
  }
  const Value y = attend(h, places);
  if (!n.uses_output(1)) return {y};
  if (h.keys.size(3) != h.values.size(3)) {
    n.unsupported("the state of keys and values that differ in size");
  }
  return {y, stack(n, {h.keys, h.values}, 0)};
}

void check_ranks(Node& n, Value x, Value w) {
  if (x.rank() == 3 && w.rank() == 2) return;
  n.invalid(Code::kShapeMismatch, "its input must have three dimensions and its weights two");
}

std::vector<NodeId> convert_attention(Node& n) {
  const Value x = input(n, 0), w = input(n, 1);
  check_ranks(n, x, w);
  const Value all = x.matmul(w);
  return attention(n.has_input(2) ? all + input(n, 2) : all, {3, 4, 5});
}

// There is no input that is added to scores.
std::vector<NodeId> convert_qattention(Node& n) {
  check_ranks(n, input(n, 0), input(n, 1));
  Value x = input(n, 0).cast(kInt32);
  if (n.has_input(6)) x = x - input(n, 6).cast(kInt32).reshape({});
  const Value sum = x.matmul(shifted(n, 1, 7, false));
  const Value all = dequantized_sum(sum, number_of(n, 3), 4, 2).cast(n.dtype(n.input(3)));
  return attention(all, {5, 8, 9});
}

constexpr Converter kProjectedAttentionTable[] = {
    {"com.microsoft.Attention", 1, convert_attention},
    {"com.microsoft.QAttention", 1, convert_qattention},
};

}  // namespace

extern const std::span<const Converter> projected_attention_converters;
const std::span<const Converter> projected_attention_converters = kProjectedAttentionTable;

}  // namespace tessera::import
