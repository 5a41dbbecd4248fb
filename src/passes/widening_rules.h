// SPDX-License-Identifier: Apache-2.0
// What becomes of calls on 16-bit values where a machine computes those in float32:
// widening_rules.def, and what follows from an operator's record.
#pragma once

#include <optional>
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

// That of a call. Without a row, an injective operator moves, and a cast that rounds (to 16 bits,
// integers or booleans) keeps. All others compute; so do comparisons with a threshold, which are
// to agree with the values that they choose from. Needs types.
WideningRule::Kind widening_kind(const relay::Function& f, relay::NodeId call);

// nn.conv1d, nn.conv2d and nn.conv3d; nn.batch_matmul, nn.dense and nn.matmul.
bool is_convolution(std::string_view op);
bool multiplies_matrices(std::string_view op);

// Is it a product of matrices of one of these types, which machines may have instructions for that
// have none for other calls on the type? So is a convolution of one group with an even number of
// channels. Needs types.
bool is_matrix_product(const relay::Function& f, relay::NodeId call, std::span<const DType> dtypes);
// Nothing, or why generated code does not multiply this convolution's channels by pairs.
std::optional<std::string_view> unpaired(const relay::Function& f, relay::NodeId convolution);

}  // namespace tessera::passes
