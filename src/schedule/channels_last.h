// SPDX-License-Identifier: Apache-2.0
// Images in the order in which sums over windows read them.
#pragma once

#include <optional>

#include "schedule/contraction.h"

namespace tessera::schedule {

// A copy of what rows of a product read, in which the channels that sums run over are neighbours.
struct ChannelsLast {
  tir::Buffer copy;
  Nest copying;
};

// Rows of a convolution with known weights read an element of each channel: places that are far
// apart in memory, of which caches and their tables of pages hold few. If a copy is worth it, the
// product reads that from now on, and its sums run over channels innermost.
std::optional<ChannelsLast> put_channels_last(Product& p);

}  // namespace tessera::schedule
