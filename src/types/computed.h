// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "types/type.h"

namespace tessera {

// Data types that values are computed in: bool, integers of 8 to 64 bits, floats of 16 to 64, one
// in an element. Texts may name others.
bool is_computed(DType dtype);
// The first tensor of a type, tuples flattened, that is of another; or an unknown type.
Type uncomputed_tensor(const Type& type);

}  // namespace tessera
