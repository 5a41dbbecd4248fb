// SPDX-License-Identifier: Apache-2.0
// Random graphs made of the operators' samples, with inputs on which they are well behaved: small
// errors of rounding stay small, so that every right way of computing them gives the same.
#pragma once

#include "tests/fuzz/graph.h"

namespace tessera::fuzz {

// Open: with symbols in the types of parameters, in the place of the samples' sizes, and with other
// data types and layouts than they have.
enum class Shapes : std::uint8_t { kStatic, kOpen };

// The same for the same seed, on every machine.
Graph random_graph(std::uint64_t seed, Shapes shapes = Shapes::kStatic);

}  // namespace tessera::fuzz
