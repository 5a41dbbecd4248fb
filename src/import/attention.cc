// SPDX-License-Identifier: Apache-2.0
#include "import/attention.h"

#include <cmath>
#include <limits>

#include "ops/attrs/shape.h"

namespace tessera::import {
namespace {

// x in the shape [first three dimensions of q, dimension `axis` of `last`].
Value in_heads(Value x, Value q, Value last, std::int64_t axis) {
  Shape shape = q.dims(0, 3);
  shape.push_back(last.dim(axis));
  if (are_same(x.shape(), shape)) return x;
  if (has_names(shape)) return x.reshape_to(shape);
  Node& n = x.node();
  const Value wanted = concat(n, {sizes_of(q, 0, 3), sizes_of(last, axis, axis + 1)}, 0);
  return {n, n.call("dyn.reshape", {x, wanted})};
}

// Kernels for all of attention want sizes that are known, and keys for each head. Where rows are
// many, what repeating keys takes is little.
constexpr std::int64_t kManyRows = 16;
Value for_each_head(Value x, Value q) {
  const auto rows = q.dim(2).as_constant();
  const std::int64_t repeats = x.size(1) > 0 ? q.size(1) / x.size(1) : 1;
  if (repeats < 2 || !rows || *rows < kManyRows || !constant_shape(x.shape())) return x;
  return x.apply("repeat", {{"repeats", repeats}, {"axis", 1}});
}

// Else queries whose heads share keys are rows of one product: keys are not repeated.
Value by_shared_heads(Value x, std::int64_t num_groups) {
  return x.size(1) == num_groups ? x : x.split(1, num_groups).merge(2, 4);
}

Value head_products(Value a, Value b, bool transposes_b) {
  Node& n = a.node();
  return {n, n.call("nn.matmul", {a, b},
                    {{"units", relay::AttrValue()}, {"transpose_b", transposes_b}})};
}

Value hidden_by(Value scores, Value mask) {
  if (!mask.dtype().is_bool()) return scores + mask.cast(scores.dtype());
  return where(mask, scores, scores.number(-std::numeric_limits<double>::infinity()));
}

// The softmax of scores and one more, which takes its share and gives nothing.
Value weights_beside(Value scores, Value sink) {
  const Ints keys = {scores.rank() - 1};
  const Value other = sink.cast(kFloat32).expand_dims(1).expand_dims(1), x = scores.cast(kFloat32);
  const Value top = maximum(x.apply("max", {{"axis", keys}, {"keepdims", true}}), other);
  const Value shares = (x - top).apply("exp");
  return shares / (shares.sum(keys) + (other - top).apply("exp"));
}

Value weights_of(const Attention& a, Value scores) {
  const DType type = scores.dtype();
  if (a.sink) return weights_beside(scores, *a.sink).cast(type);
  Value weights = scores.cast(a.precision.value_or(type)).apply("nn.softmax", {{"axis", -1}});
  if (a.may_hide_a_row) weights = where(weights.apply("isnan"), weights.number(0), weights);
  return weights.cast(type);
}

void check_numbers_of_heads(const Attention& a) {
  Node& n = a.q.node();
  const std::int64_t heads = a.q.size(1), shared = a.k.size(1);
  if (shared == a.v.size(1) && shared > 0 && heads % shared == 0) return;
  n.invalid(Code::kShapeMismatch,
            fmt::format("{} heads of queries do not fit {} of keys and {} of values", heads, shared,
                        a.v.size(1)));
}

}  // namespace

Attention attention_of(Value q, Value k, Value v) {
  for (const Value& x : {q, k, v}) {
    if (x.rank() == 4) continue;
    x.node().invalid(
        Code::kShapeMismatch,
        fmt::format("heads have the shape {}, not four dimensions", to_string(x.shape())));
  }
  return {q, k, v};
}

AttentionSteps attend(const Attention& a) {
  check_numbers_of_heads(a);
  const Value k = for_each_head(a.k, a.q), v = for_each_head(a.v, a.q);
  const std::int64_t groups = k.size(1);
  const Value q = a.scale == 1 ? a.q : a.q * a.scale;
  const Value scores = in_heads(head_products(by_shared_heads(q, groups), k, true), a.q, k, 2);
  const Value capped = a.softcap == 0 ? scores : (scores / a.softcap).apply("tanh") * a.softcap;
  Value seen = capped;
  for (const Value& mask : a.masks) seen = hidden_by(seen, mask);
  const Value weights = weights_of(a, seen);
  const Value y = in_heads(head_products(by_shared_heads(weights, groups), v, false), a.q, v, 3);
  return {y, scores, capped, seen, weights};
}

double default_scale(Value q) {
  const std::int64_t width = q.size(q.rank() - 1);
  return width > 0 ? 1 / std::sqrt(static_cast<double>(width)) : 1;
}

Value heads_of(Value x, std::int64_t num_heads) {
  return x.split(2, num_heads).transpose({0, 2, 1, 3});
}

Value rows_of_heads(Value heads) { return heads.transpose({0, 2, 1, 3}).merge(2, 4); }

Value padded_mask(Value mask, Value k) {
  Node& n = mask.node();
  const std::int64_t last = mask.rank() - 1;
  const Dim keys = k.dim(2), given = mask.dim(last);
  if (provably_equal(keys, given) == Tri::kYes) return mask;
  const bool is_bool = mask.dtype().is_bool();
  const Value hidden =
      is_bool ? mask.number(0) : mask.number(-std::numeric_limits<double>::infinity());
  const Value missing = maximum(sizes_of(k, 2, 3) - sizes_of(mask, last, last + 1), 0.0);
  const Value sizes = concat(n, {sizes_of(mask, 0, last), missing}, 0);
  return concat(n, {mask, {n, n.call("dyn.full", {hidden, sizes})}}, last);
}

std::optional<Value> window_mask(Value q, Value k, Value offset, const KeyWindow& window) {
  // What is farther away than any size is no bound.
  const auto bound = [](std::optional<std::int64_t> keys) {
    return keys && *keys < ops::kFarAway ? std::optional(static_cast<double>(*keys)) : std::nullopt;
  };
  const auto before = bound(window.before), after = bound(window.after);
  if (!before && !after) return std::nullopt;
  if (offset.rank() == 1) offset = offset.expand_dims(1).expand_dims(1).expand_dims(1);
  const Value at = iota_along(q, 2).expand_dims(1) + offset, key = iota_along(k, 2);
  std::optional<Value> seen;
  if (after) seen = key <= (*after == 0 ? at : at + *after);
  if (!before) return seen;
  const Value is_near = key >= at - *before;
  return seen ? *seen && is_near : is_near;
}

}  // namespace tessera::import
