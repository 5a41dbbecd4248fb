// SPDX-License-Identifier: Apache-2.0
// In which types of 16 bits generated code is no slower than in float32.
#pragma once

#include <span>

#include "types/dtype.h"
#include "types/target.h"

namespace tessera {

// By the kind of a machine; none for kinds without a row.
std::span<const DType> fast_16_bit_types(const Target& machine);

}  // namespace tessera
