// SPDX-License-Identifier: Apache-2.0
// What hides keys between the scores of an attention and its softmax.
#pragma once

#include <optional>

#include "attention/nodes.h"

namespace tessera::attention {

// A mask that is added, or a choice of the scores where it is `seen`, and of a number elsewhere.
struct MaskStep {
  relay::NodeId scores, mask;
  bool chooses = false, seen = true;
  double hidden = 0;
};

// The softmax is zero where this is added, or chosen instead of a score.
inline constexpr double kAsGoodAsNothing = -1e4;

// Reads scores + mask, where(mask, scores, c), where(mask, c, scores), or scores b - c (1 - b) with
// a b of zeros and ones: a constant, or made of a mask of booleans.
Expected<MaskStep, relay::Refusal> read_mask(const Nodes& nodes, relay::NodeId id);

// What keys after the query have for a score, or what is added to it, if the mask is a constant
// that does no more than hide them, among so many.
std::optional<double> hides_the_future(const Nodes& nodes, const MaskStep& step, std::int64_t keys);

}  // namespace tessera::attention
