// SPDX-License-Identifier: Apache-2.0
// What of a quantised model is computed in floats, for people.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::passes {

// Operators on numbers that were integers of eight bits until they were dequantised.
struct FloatOperators {
  std::string op;
  std::string reason;
  std::int64_t count = 0;
};

}  // namespace tessera::passes
