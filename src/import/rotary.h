// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding: pairs of elements of each head, turned by angles that grow with the
// position.
#pragma once

#include "import/value.h"

namespace tessera::import {

// Cosines and sines of the angles: as many as there are pairs in the last dimension, the others
// broadcast to those of the heads.
struct Angles {
  Value cos, sin;
  bool interleaved = false;  // a pair is neighbours, else elements of two halves
};

// The elements of the last dimension after the pairs stay as they are.
Value rotate(Value heads, const Angles& angles);

// Rows of the tables of cosines and sines, [position, pair], at positions that the run checks.
Angles angles_at(Value positions, Value cos, Value sin, bool interleaved);
// The same angles for all heads, which are dimension `axis`.
Angles for_heads(const Angles& angles, std::int64_t axis);

}  // namespace tessera::import
