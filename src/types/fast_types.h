// SPDX-License-Identifier: Apache-2.0
// In which types of 16 bits generated code is no slower than in float32.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "types/dtype.h"
#include "types/target.h"

namespace tessera {

// By the kind of a machine; none for kinds without a row.
std::span<const DType> fast_16_bit_types(const Target& machine);
// In which of the others its products of matrices are faster, by instructions that all of its
// processors have.
std::vector<DType> fast_product_types(const Target& machine);
// Does generated code add pairs of products of int16 at once, by instructions that all of its
// processors have (AVX2)?
bool multiplies_pairs(const Target& machine);
// Has it a unit that multiplies matrices of bfloat16 and of bytes (AMX)?
bool has_matrix_unit(std::string_view processor);
// Have all of its processors one?
bool has_matrix_unit(const Target& machine);

}  // namespace tessera
