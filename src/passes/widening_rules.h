// SPDX-License-Identifier: Apache-2.0
// What becomes of calls on 16-bit values where a machine computes those in float32:
// widening_rules.def, and what follows from an operator's record.
#pragma once

#include <span>
#include <string_view>

#include "relay/function.h"

namespace tessera::passes {

struct WideningRule {
  enum Kind : std::uint8_t {
    kComputes,  // in float32
    kMoves,     // elements, which stay what they are: it follows its operands and readers
    kKeeps,     // as the model says, on rounded values: its result jumps where rounding shows
  };
  std::string_view op;
  Kind kind = kComputes;
  std::string_view reason = {};
};

std::span<const WideningRule> widening_rules();

// That of a call. Without a row, an injective operator moves, one that treats each element by
// itself and makes no floats of floats keeps (comparisons, casts to integers), and so does a cast
// that rounds. All others compute. Needs types.
WideningRule::Kind widening_kind(const relay::Function& f, relay::NodeId call);

}  // namespace tessera::passes
