// SPDX-License-Identifier: Apache-2.0
// GELU as exporters write it, of what it is made of:
//   x * 0.5 * (1 + erf(x / sqrt(2)))
//   x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
// in all orders of the factors. A pattern matches the form; the function beside it looks at the
// numbers, and says what x is.
#pragma once

#include "relay/patterns/pattern.h"
#include "relay/patterns/refuse.h"

namespace tessera::relay {

// `root`: the capture of the whole; "" for none.
Pattern erf_gelu(const Pattern& x, const std::string& root = "");
Pattern tanh_gelu(const Pattern& x, const std::string& root = "");

Expected<NodeId, Refusal> input_of_erf_gelu(const Match& match);
Expected<NodeId, Refusal> input_of_tanh_gelu(const Match& match);

}  // namespace tessera::relay
