// SPDX-License-Identifier: Apache-2.0
// Matrices of blocks of integers as vectors read them: sixteen columns side by side. A word of 32
// bits has elements of one column that follow each other, from its low bits on; a column's last
// block is whole.
//   weight: int32[tiles, words, 16], scale: F[tiles, blocks, 16], zero_point: G[] or
//   G[tiles, blocks, 16]; F and G are float32 or bfloat16
// Or as the threads of a GPU read them (tir/fragments.h), with scales and zero points likewise:
//   weight: int32[tiles, steps, 128]; F and G may be float16, too
#pragma once

#include "ops/attrs/quantize.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {

inline constexpr std::int64_t kColumnsOfATile = 16;
inline std::int64_t tiles_of(std::int64_t columns) {
  return (columns + kColumnsOfATile - 1) / kColumnsOfATile;
}
inline std::int64_t elements_of_a_word(const BlockColumnsAttrs& p) { return 32 / p.bits; }
inline std::int64_t words_of_a_block(const BlockColumnsAttrs& p) {
  return p.block_size * p.bits / 32;
}

enum class WordOrder : std::uint8_t { kColumns, kFragments };

// Checks the operands from `first` on: blocks of columns with so many terms.
Result<void> expect_block_columns(const InferArgs& args, const BlockColumnsAttrs& p,
                                  std::size_t first, const Dim& terms,
                                  WordOrder order = WordOrder::kColumns);
// The matrix as numbers, [terms, units].
Elements<double> block_columns(const EvalArgs& args, const BlockColumnsAttrs& p, std::size_t first,
                               std::int64_t terms, WordOrder order = WordOrder::kColumns);

// The type of a product with such a matrix, whose first operand are the other one's rows.
Result<Type> infer_block_product(const InferArgs& args, WordOrder order);
std::vector<Tensor> eval_block_product(const EvalArgs& args, WordOrder order);

}  // namespace tessera::ops
