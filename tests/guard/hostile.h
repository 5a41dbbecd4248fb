// SPDX-License-Identifier: Apache-2.0
// Sizes and data that nobody would choose who means well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/guard/model_library.h"

namespace tessera::guard {

using Random = std::mt19937_64;
using Ints = std::vector<std::int64_t>;

// kAgreeing: what has one name in the model has one size, so that runs get far. kEqual: all have
// one. kAny: each for itself. kHuge: named alike, and beyond what 32 and 64 bits can count wherever
// another size of the tensor is zero.
enum class Sizes { kAgreeing, kEqual, kAny, kHuge };
// kTame: small numbers, which are indices of most things. kWild: far outside of everything, NaN and
// infinities among them.
enum class Data { kTame, kNear, kWild };

std::string to_string(Sizes sizes);
std::string to_string(Data data);

// Shapes of all inputs, within what the library says it takes.
std::vector<Ints> hostile_shapes(const std::vector<Port>& inputs, Sizes sizes, Random& random);

void fill(std::span<std::byte> memory, tessera_dtype dtype, Data data, Random& random);

}  // namespace tessera::guard
