// SPDX-License-Identifier: Apache-2.0
#include "emit/flat_offset.h"

#include "tir/expr_ops.h"

namespace tessera::emit {

using tir::Expr;

Expr flat_offset(const tir::Buffer& buffer, const std::vector<Expr>& indices) {
  const std::vector<Expr> strides = tir::strides_of(buffer);
  Expr offset = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) offset = offset + indices[i] * strides[i];
  return offset;
}

}  // namespace tessera::emit
