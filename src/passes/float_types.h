// SPDX-License-Identifier: Apache-2.0
// What passes that change the precision ask about types.
#pragma once

#include <span>

#include "types/type.h"

namespace tessera::passes {

// Has a tensor of one of these data types in it? Functions have none.
bool holds(const Type& type, std::span<const DType> dtypes);
// The type with `to` in place of these data types.
Type with_dtypes_as(const Type& type, std::span<const DType> dtypes, DType to);

// The same for float32 alone.
bool has_float32(const Type& type);

}  // namespace tessera::passes
