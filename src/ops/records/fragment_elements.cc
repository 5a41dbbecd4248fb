// SPDX-License-Identifier: Apache-2.0
#include "ops/records/fragment_elements.h"

#include "tir/fragments.h"

namespace tessera::ops {

Expr fragment_element(const ComputeArgs& args, const BlockColumnsAttrs& p, std::size_t first,
                      const Expr& k, const Expr& column) {
  const TensorExpr& zero = args.operands[first + 2];
  const auto elements_of = [](const TensorExpr& t) {
    return [t](Indices at) { return t(std::move(at)); };
  };
  const auto of_block = [&zero](Indices at) {
    return zero(zero.rank() == 0 ? Indices() : std::move(at));
  };
  return tir::fragment_element(
      {elements_of(args.operands[first]), elements_of(args.operands[first + 1]), of_block, p.bits,
       p.block_size},
      column, k);
}

}  // namespace tessera::ops
