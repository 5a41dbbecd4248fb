// SPDX-License-Identifier: Apache-2.0
// What is attention by its shape, taken or not: a softmax over a product of two computed matrices,
// multiplied by a third. Patterns say which of it is one kernel; this is for telling why another is
// not.
#pragma once

#include <optional>

#include "relay/patterns/pattern.h"
#include "relay/patterns/pattern_table.h"

namespace tessera::attention {

// All of it around a softmax, with the product of the values as its root; without inputs.
std::optional<relay::Match> around(const relay::Match& softmax);

// Why no pattern took what can be described.
relay::Refusal why_unmatched(const relay::Match& attention);

}  // namespace tessera::attention
