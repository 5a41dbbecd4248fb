// SPDX-License-Identifier: Apache-2.0
// Products of matrices in a launch: calls of tessera/block_product.cuh.
#include "emit/cuda_writer.h"

namespace tessera::emit {

using tir::Expr;

void CudaWriter::block_product() {
  const tir::BlockProduct& p = *block_product_;
  const auto address = [&](const tir::Buffer& b, const Expr& row, const Expr& column) {
    return Literal("&") + element_text(b, {p.batch, row, column}, scope_);
  };
  line("tk::block_product<{}, {}, {}, {}, {}>(", p.rows, p.columns, p.terms(), p.term_places(),
       p.all_columns());
  line("    {},", address(p.sums, p.first_row, p.first_column));
  line("    {},", address(p.a, p.first_row, Expr(0)));
  line("    {});", address(p.b, Expr(0), p.first_column));
}

}  // namespace tessera::emit
