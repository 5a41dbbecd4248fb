// SPDX-License-Identifier: Apache-2.0
// Random graphs made of the operators' samples, with inputs on which they are well behaved: small
// errors of rounding stay small, so that every right way of computing them gives the same.
#pragma once

#include <cstdint>
#include <vector>

#include "relay/function.h"

namespace tessera::fuzz {

struct Graph {
  relay::Function function;    // types inferred; constants are immediate
  std::vector<Tensor> inputs;  // one a parameter
};

// The same for the same seed, on every machine.
Graph random_graph(std::uint64_t seed);

}  // namespace tessera::fuzz
