// SPDX-License-Identifier: Apache-2.0
// By which tiles a convolution is computed, if it is by Winograd's algorithm at all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/algorithms.h"
#include "schedule/winograd_convolution.h"

namespace tessera::schedule {

// What the target says (Machine::winograd_tile), where it says which: its tile if that is one of
// `tiles`, those that are possible, and 0 otherwise.
std::optional<std::int64_t> told_winograd_tile(int told, const std::vector<std::int64_t>& tiles);

// `rule`: the tile to take where nothing was measured, 0 for none; `tiles`: all that are exact
// enough and take no more memory than they may; `measured` may be null. 0: the convolution is
// computed directly.
std::int64_t measured_winograd_tile(const WinogradConvolution& c, std::int64_t rule,
                                    const std::vector<std::int64_t>& tiles,
                                    MeasuredAlgorithms* measured);

}  // namespace tessera::schedule
