// SPDX-License-Identifier: Apache-2.0
// Attention of heads, composed of products and a softmax in the form in which back ends look for
// it.
#pragma once

#include <optional>
#include <vector>

#include "import/value.h"

namespace tessera::import {

// Heads are [batch, head, row, element]. Those of keys and values may be fewer than those of
// queries: so many in a row share them.
struct Attention {
  Value q, k, v;
  double scale = 1;
  double softcap = 0;             // 0: none
  std::vector<Value> masks = {};  // booleans choose scores, floats are added, one after the other
  bool may_hide_a_row = false;    // by the masks: the row of the result is zero then
  std::optional<DType> precision = {};  // of the softmax; none: that of the heads
  std::optional<Value> sink = {};       // a score that has no value, for each head: [head]
};

// Attention of operands of four dimensions: masks are made of it before it is attended to.
Attention attention_of(Value q, Value k, Value v);

// The result, and the steps to it: [batch, head, row, key].
struct AttentionSteps {
  Value y, scores, capped, masked, weights;
};

AttentionSteps attend(const Attention& a);

// 1 / sqrt(elements of a head).
double default_scale(Value q);

// [batch, row, all heads' elements] as heads, and back.
Value heads_of(Value x, std::int64_t num_heads);
Value rows_of_heads(Value heads);

// A mask for the keys: those after its end are hidden.
Value padded_mask(Value mask, Value k);

// Before and after each query, how many keys it sees; none: all of them.
struct KeyWindow {
  std::optional<std::int64_t> before, after;
};
// Which keys a query sees, [row, key] or, where `offset` has a batch, [batch, 1, row, key]: query i
// stands at the key i + offset. The offset is a scalar or [batch].
std::optional<Value> window_mask(Value q, Value k, Value offset, const KeyWindow& window);

}  // namespace tessera::import
