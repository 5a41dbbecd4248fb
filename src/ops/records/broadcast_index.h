// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tir/compare.h"
#include "tir/expr_ops.h"

namespace tessera::ops {

// Where numpy broadcasting reads a dimension of `size` for `index` of the result's.
inline tir::Expr broadcast_index(const tir::Expr& size, const tir::Expr& result_size,
                                 const tir::Expr& index) {
  if (tir::is_int(size, 1)) return tir::Expr(0);
  if (tir::as_int(size) != nullptr || tir::equal(size, result_size)) return index;
  return tir::select(tir::eq(size, 1), tir::Expr(0), index);  // 1 or that size: the run tells
}

}  // namespace tessera::ops
