// SPDX-License-Identifier: Apache-2.0
// Constant matrices of a few bits that products read: what a graph has of them, and their elements.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "constants/pool.h"
#include "constants/tensor.h"
#include "ops/attrs/quantize.h"
#include "passes/row_product.h"
#include "passes/size_range.h"
#include "relay/function.h"

namespace tessera::passes {

// What a call of `qnn.dequantize_blocks` reads.
struct BlockConstants {
  const Tensor &data, &scale, &zero_point;
  ops::DequantizeBlocksAttrs attrs;
};

// A product whose matrix is a call of `qnn.dequantize_blocks` of constants, or a transpose or a
// cast of it; `matrix` is that call.
std::optional<RowProduct> block_product(const relay::Function& f, relay::NodeId id);
BlockConstants block_constants(const relay::Function& f, const ConstantPool& pool,
                               relay::NodeId matrix);

// How many rows a product's data have: the product of all dimensions but the last. Above `most` one
// count is as good as another.
SizeRange rows_of(const Type& data, const SymbolTable& symbols, std::int64_t most);

// The integers of a matrix of two dimensions, whichever way round it is stored.
class BlockMatrix {
 public:
  BlockMatrix(const BlockConstants& constants, bool has_rows_of_terms);

  std::int64_t columns = 0, terms = 0;

  std::int64_t at(std::int64_t column, std::int64_t term) const;

 private:
  std::span<const std::byte> bytes_;
  std::int64_t bits_, row_bytes_;
  bool is_signed_, has_rows_of_terms_;
};

// Do the blocks of a matrix of two dimensions lie along the terms of a product?
bool has_blocks_of_terms(const BlockConstants& constants, bool has_rows_of_terms);
// Do all its integers of eight bits lie in a range of four: -8 to 7, or of uint8 0 to 15?
bool holds_four_bits(const Tensor& data);

}  // namespace tessera::passes
