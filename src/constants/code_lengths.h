// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

// The lengths in bits, at most `longest`, of the best prefix code for symbols that occur so often;
// 0 for those that do not. At least two do, and at most 2^longest.
std::vector<unsigned> code_lengths(std::span<const std::uint64_t> counts, unsigned longest);

}  // namespace tessera
