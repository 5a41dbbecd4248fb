// SPDX-License-Identifier: Apache-2.0
// By which tiles a convolution is computed, if it is by Winograd's algorithm at all.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/algorithms.h"
#include "schedule/winograd_convolution.h"

namespace tessera::schedule {

// `rule`: the tile to take where nothing was measured, 0 for none; `tiles`: all that are exact
// enough and take no more memory than they may. 0: the convolution is computed directly.
std::int64_t measured_winograd_tile(const WinogradConvolution& c, std::int64_t rule,
                                    const std::vector<std::int64_t>& tiles,
                                    MeasuredAlgorithms& measured);

}  // namespace tessera::schedule
