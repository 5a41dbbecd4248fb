// SPDX-License-Identifier: Apache-2.0
// Products of few rows in a launch: calls of tessera/few_rows.cuh, with the matrix as its templates
// want it told.
#include "emit/cuda_writer.h"
#include "tir/device_loops.h"
#include "tir/fragments.h"

namespace tessera::emit {

using tir::Expr;

// `tk::words<4, 128, 4096, tk::bfloat16, tk::centred>{&w[tile * 8192], &scale[tile * 512], {}}`
Source CudaWriter::few_rows_matrix() {
  const tir::FewRows& p = few_rows_->product;
  const auto address = [&](const tir::Buffer& b, const std::vector<Expr>& at) {
    return Literal("&") + element_text(b, at, scope_);
  };
  const Expr& column = few_rows_->first_column;
  if (!p.has_words()) {
    const std::int64_t columns = *tir::as_int(p.weight->shape[0]);
    const Expr left = tir::simplify_indices(Expr(columns) - column, scope_.bounds);
    return source("tk::rows_of<{}, {}>{{{}, static_cast<int>({})}}", p.terms(),
                  element_type(p.weight), address(p.weight, {column, Expr(0)}),
                  expr_text(left, scope_));
  }
  const Expr tile =
      tir::simplify_indices(tir::floor_div(column, Expr(tir::kFragmentColumns)), scope_.bounds);
  const std::vector<Expr> first = {tile, Expr(0), Expr(0)};
  const double middle = static_cast<double>(std::int64_t{1} << (p.bits - 1));
  Source kind = Literal("tk::centred"), zero = Literal("{}");
  if (p.zero) {
    kind = source("tk::zeros<{}>", element_type(p.zero));
    zero = source("{{{}}}", address(p.zero, first));
  } else if (p.one_zero != middle) {
    kind = Literal("tk::one_zero");
    zero = source("{{{}}}", expr_text(tir::float_imm(p.one_zero - middle), scope_));
  }
  return source("tk::words<{}, {}, {}, {}, {}>{{{}, {}, {}}}", p.bits, p.block, p.terms(),
                element_type(p.scale), kind, address(p.weight, first), address(p.scale, first),
                zero);
}

void CudaWriter::few_rows_sums() {
  const tir::FewRowsSums& s = *few_rows_;
  std::vector<Expr> row = tir::row_indices(s.product.data, s.first_row);
  row.emplace_back(0);
  line("tk::few_rows<{}, {}, {}>({}, {}, &{},", tir::few_rows_threads(s.product, s.columns()),
       s.columns(), s.product.terms(), scope_.name(s.sums), expr_text(s.rows, scope_),
       element_text(s.product.data, row, scope_));
  line("    {});", few_rows_matrix());
}

}  // namespace tessera::emit
