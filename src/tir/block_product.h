// SPDX-License-Identifier: Apache-2.0
// A block's part of a product of matrices in floats of 16 bits, as kernels for a device have it:
// the form that schedules make, and that emitters know again and write as a call of
// tessera/block_product.cuh. It is loops like any others, so whoever does not know it computes the
// same.
#pragma once

#include <array>
#include <optional>

#include "tir/index_form.h"
#include "tir/stmt.h"

namespace tessera::tir {

// sums[batch, row, column] = sum over k of a[batch, row, k] * b[batch, k, column], for as many rows
// and columns from the first ones on as a block makes, which divide those that there are:
//   for e in threads(rows * columns): sums[...] = sum over k
struct BlockProduct {
  Buffer a;     // T[batches, all rows, >= terms], rows of which vectors of eight fill
  Buffer b;     // T[batches, terms, all columns]
  Buffer sums;  // float32[batches, all rows, all columns]
  std::int64_t rows = 0, columns = 0;
  Expr batch, first_row, first_column;

  std::int64_t terms() const;
  std::int64_t term_places() const;  // of a row of `a`
  std::int64_t all_rows() const;
  std::int64_t all_columns() const;
};

// What a block can make, the largest first.
struct BlockTile {
  std::int64_t rows, columns;
};
inline constexpr std::array<BlockTile, 5> kBlockTiles = {
    {{128, 128}, {128, 64}, {64, 128}, {64, 64}, {64, 32}}};
inline constexpr std::int64_t kAlignedPlaces = 8;  // rows begin where vectors do

Stmt block_product(const BlockProduct& p);
// `bounds`: of the variables around the loop.
std::optional<BlockProduct> as_block_product(const For& loop, const Bounds& bounds);

}  // namespace tessera::tir
