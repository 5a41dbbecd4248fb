// SPDX-License-Identifier: Apache-2.0
// precision_rules.def made searchable.
#pragma once

#include <span>
#include <string_view>

#include "relay/operator.h"

namespace tessera::passes {

struct PrecisionRule {
  enum Kind : std::uint8_t {
    kFollows,        // computed in what its operands are in
    kLow,            // in the 16-bit type: products, which are what it is for
    kFloat32,        // in float32, and so is what follows it
    kFloat32Inside,  // in float32, but its result is bounded and goes on as what the operand was
    kLowRows,        // as kLow, but of its operands the first alone: the matrix has scales
    kRounds,         // in float32, and its result goes on in 16 bits: products of fewer bits
  };
  std::string_view op;
  Kind kind = kFollows;
  std::string_view reason = {};
};

std::span<const PrecisionRule> precision_rules();
PrecisionRule precision_rule(const relay::Operator& op);

}  // namespace tessera::passes
