// SPDX-License-Identifier: Apache-2.0
// A composite as attention: softmax(scale Q K^T + mask) V, from the form in which exporters write
// it out. Reshapes, transposes and slices on the way in and out become strides. For every back end
// that has a kernel of attention; whether it takes what is described is its own to say.
#pragma once

#include <cstdint>
#include <optional>

#include "relay/patterns/pattern_table.h"
#include "support/expected.h"
#include "types/type.h"

namespace tessera::attention {

// A tensor seen as [batch, head, row, element]; elements of a row are beside each other.
struct HeadsView {
  relay::NodeId node;
  std::int64_t offset = 0, batch_stride = 0, head_stride = 0, row_stride = 0;  // in elements
};

// The smallest score that hides a key: what is below is this number.
inline constexpr double kAllHide = -0x1p100;

struct Attention {
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  std::int64_t width = 0;  // of a head
  DType dtype;
  double scale = 1;
  HeadsView q, k, v;
  HeadsView o;             // of the result; its node is the composite's root
  bool is_causal = false;  // no query looks at keys after it
  std::optional<HeadsView> mask;
  DType mask_dtype;      // one of booleans chooses: a key is seen where it is `seen`
  bool chooses = false;  // the mask chooses between scores and a number; else it is added
  bool seen = true;
  // With a mask: the score, before it is scaled, of keys that it or the causal one hides.
  double hidden = 0;
  // A row without a key is zero, not the softmax's NaN.
  bool zero_without_keys = false;
};

Expected<Attention, relay::Refusal> describe(const relay::Match& match);

}  // namespace tessera::attention
