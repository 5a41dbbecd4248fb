// SPDX-License-Identifier: Apache-2.0
// A matrix of floats as integers of a few bits, with a scale for each group of them.
#pragma once

#include "constants/tensor.h"
#include "ops/attrs/quantize.h"
#include "passes/weight_rules.h"

namespace tessera::passes {

// Operands of `qnn.dequantize_blocks`: data uint8[columns, terms in bytes], scale float32[columns,
// groups], numbers of bfloat16, zero_point uint8[] or uint8[columns, groups].
struct QuantizedMatrix {
  Tensor data, scale, zero_point;
  ops::DequantizeBlocksAttrs attrs;
  double error = 0;  // the norm of the differences over that of the matrix
};

// `matrix`: float32[columns, terms], or [terms, columns] where it has no rows of terms. Symmetric:
// of the scale that makes the largest element of a group the lowest integer and the one that makes
// it the highest, the one with less error. Asymmetric: from the least to the largest element, zero
// among them. Elements that are no numbers are not allowed.
QuantizedMatrix quantize_blocks(const Tensor& matrix, bool has_rows_of_terms,
                                const WeightForm& form);

}  // namespace tessera::passes
