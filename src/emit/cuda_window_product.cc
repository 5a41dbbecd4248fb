// SPDX-License-Identifier: Apache-2.0
// Convolutions in groups in a launch: calls of tessera/window_product.cuh.
#include "emit/cuda_writer.h"
#include "tir/simplify.h"

namespace tessera::emit {

using tir::Expr;

void CudaWriter::window_product() {
  const tir::WindowProduct& p = *window_product_;
  const auto size = [](const tir::Buffer& b, std::size_t d) { return *tir::as_int(b->shape[d]); };
  const std::int64_t of_group = p.channels_of_group(), each = p.results_of_group();
  const Expr channel =
      tir::simplify(tir::floor_div(p.first_result, Expr(each)) * Expr(of_group), scope_.bounds);
  const auto place = [&](const Expr& e) {
    return source("static_cast<int>({})", expr_text(e, scope_));
  };
  line("tk::window_product<");
  line("    tk::window_tile<{}, {}, {}, {}, {}, {}, {}, {}>,", p.images(), p.images_at_once(),
       p.rows(), p.columns(), p.groups(), of_group, std::min(each, p.results), size(p.sums, 3));
  line("    tk::window_form<{}, {}, {}, {}, {}, {}>,", size(p.weight, 0), size(p.weight, 1),
       p.down.stride, p.across.stride, p.down.dilation, p.across.dilation);
  line("    tk::window_image<{}, {}, {}, {}>>(", size(p.image, 1), size(p.image, 2),
       size(p.image, 3), size(p.weight, 3));
  line("    {}, &{},", scope_.name(p.sums),
       element_text(p.image, {p.first_image, Expr(0), Expr(0), channel}, scope_));
  line("    &{},", element_text(p.weight, {Expr(0), Expr(0), Expr(0), p.first_result}, scope_));
  line("    {}, {});", place(p.top), place(p.left));
}

}  // namespace tessera::emit
