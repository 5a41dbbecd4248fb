// SPDX-License-Identifier: Apache-2.0
// Constant matrices of a few bits as `qnn.dense_mixed` reads them: which ones kernels multiply by,
// and their bytes.
#pragma once

#include <optional>
#include <string>

#include "constants/tensor.h"
#include "ops/attrs/quantize.h"
#include "passes/block_matrix.h"
#include "types/dim.h"

namespace tessera::passes {

// Why no kernel does; "" where one may: rows of integers and of results are of whole words, and a
// step along the sum has integers of one block.
std::string why_no_mixed_product(const Dim& columns, const Dim& terms,
                                 const ops::DenseMixedAttrs& form);

struct MixedWeight {
  Tensor weight, scale;
  ops::DenseMixedAttrs attrs;
};

// The matrix whose blocks lie along the terms of a product with data of `dtype`, float16 or
// bfloat16. Scales and offsets are of that type where what they lose is little beside what the
// integers have lost, else float32. Nothing where no kernel multiplies by it, where integers have
// two bits, or where the matrix has numbers that the type does not hold.
std::optional<MixedWeight> mixed_weight(const BlockConstants& constants, bool has_rows_of_terms,
                                        DType dtype);

}  // namespace tessera::passes
