// SPDX-License-Identifier: Apache-2.0
// Constant matrices of a few bits as `qnn.dense_blocks` and `qnn.unpack_blocks` read them.
#pragma once

#include <optional>

#include "constants/tensor.h"
#include "ops/attrs/quantize.h"

namespace tessera::passes {

// What a call of `qnn.dequantize_blocks` reads.
struct BlockConstants {
  const Tensor &data, &scale, &zero_point;
  ops::DequantizeBlocksAttrs attrs;
};

struct PackedWeight {
  Tensor weight, scale, zero_point;
  ops::BlockColumnsAttrs attrs;
};

// The matrix whose blocks lie along the terms of a product, which are its rows with
// `has_rows_of_terms`, else its columns, in tiles of columns; bytes that hold four bits, and
// scales and zero points
// that bfloat16 holds, take half the size. Nothing where blocks lie along the other
// dimension, where they fill no words, or where a scale is so large that products of it overflow.
std::optional<PackedWeight> packed_weight(const BlockConstants& constants, bool has_rows_of_terms);

}  // namespace tessera::passes
