// SPDX-License-Identifier: Apache-2.0
// Constant matrices of a few bits as `qnn.dense_blocks` and `qnn.unpack_blocks` read them, or
// `qnn.dense_fragments` and `qnn.unpack_fragments`.
#pragma once

#include <optional>

#include "constants/tensor.h"
#include "ops/records/block_columns.h"
#include "passes/block_matrix.h"

namespace tessera::passes {

struct PackedWeight {
  Tensor weight, scale, zero_point;
  ops::BlockColumnsAttrs attrs;
};

// The matrix whose blocks lie along the terms of a product, which are its rows with
// `has_rows_of_terms`, else its columns, in tiles of columns; bytes that hold four bits, and
// scales and zero points that bfloat16 holds, or float16 where the order takes it, have half the
// size. Nothing where blocks lie along the other dimension, where they are not what words of the
// order have, or where a scale is so large that products of it overflow.
std::optional<PackedWeight> packed_weight(const BlockConstants& constants, bool has_rows_of_terms,
                                          ops::WordOrder order);

}  // namespace tessera::passes
