// SPDX-License-Identifier: Apache-2.0
// Vectorised loops that read bytes out of a table of 256 (qnn.map_bytes): CPUs with AVX512_VBMI
// look up 64 at once, which C++ compilers do not find by themselves.
#pragma once

#include <optional>

#include "emit/lane_places.h"

namespace tessera::emit {

// For each lane l: y[l] = table[x[l] - least], least the smallest number of x's type.
struct ByteMap {
  tir::Expr lanes;
  LanePlace y, x, table;  // of the first element
};
std::optional<ByteMap> as_byte_map(const tir::For& loop, const tir::Bounds& bounds);

}  // namespace tessera::emit
