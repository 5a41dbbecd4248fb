// SPDX-License-Identifier: Apache-2.0
// Images of which products read neighbouring channels at once.
#pragma once

#include "schedule/machine.h"
#include "schedule/nest.h"

namespace tessera::schedule {

// Where a CPU adds several products of the image's type at once (schedule/machine.h), a convolution
// reads the terms that these are of, channels, side by side: from a copy of the image with channels
// last, which is the image with its border where a temporary has that anyway. Sums are made in
// another order.
Kernel lay_channels_side_by_side(Kernel kernel, const Machine& machine);

}  // namespace tessera::schedule
