// SPDX-License-Identifier: Apache-2.0
// Numbers of a tensor many at once, for whoever reads them all.
#pragma once

#include <cstdint>
#include <span>

#include "constants/tensor.h"

namespace tessera {

// As element_as_double gives each: as many as `out` has room for, from element `first` on.
void elements_as_doubles(const Tensor& t, std::int64_t first, std::span<double> out);

}  // namespace tessera
