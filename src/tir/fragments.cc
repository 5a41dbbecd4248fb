// SPDX-License-Identifier: Apache-2.0
#include "tir/fragments.h"

namespace tessera::tir {

Expr fragment_element(const FragmentTensors& t, const Expr& column, const Expr& term) {
  const Expr tile = floor_div(column, Expr(kFragmentColumns));
  const Expr inside = floor_mod(column, Expr(kFragmentColumns));
  const auto place = fragment_place<Expr>(inside, term, t.bits);
  const Expr word = t.word({tile, place.step, place.word});
  const Expr q = call("bitwise_and", {call("shift_right", {word, cast(place.shift, kInt32)}),
                                      int_imm((std::int64_t{1} << t.bits) - 1, kInt32)});
  const std::vector<Expr> block = {tile, floor_div(term, Expr(t.block)), inside};
  return (cast(q, kFloat32) - cast(t.zero(block), kFloat32)) * cast(t.scale(block), kFloat32);
}

}  // namespace tessera::tir
