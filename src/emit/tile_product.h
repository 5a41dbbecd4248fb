// SPDX-License-Identifier: Apache-2.0
// Sums of products of two matrices that a CPU's matrix unit computes (tessera/kernel_tiles.h):
// loops of the kind `tiled` that have this form. Others of that kind are serial loops.
#pragma once

#include <optional>
#include <vector>

#include "tir/index_form.h"
#include "tir/stmt.h"

namespace tessera::emit {

// outer loops { for k < terms, row < rows, column < columns:
//   sums[row, column] += a[row, k] * b[k / n, column, k % n] }
struct TileProduct {
  struct Place {
    tir::Buffer buffer;
    std::vector<tir::Expr> indices;
  };
  std::vector<const tir::For*> outer;  // from the outermost
  tir::Expr terms, rows, columns;
  Place sums, a, b;  // of the first element
  std::int64_t a_stride = 0, b_stride = 0;
};
std::optional<TileProduct> as_tile_product(const tir::For& loop, const tir::Bounds& bounds);

// Does the statement write zeros to the elements that the product sums up in, and nothing else?
bool is_zero_of(const tir::Stmt& s, const TileProduct& product);

}  // namespace tessera::emit
