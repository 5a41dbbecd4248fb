// SPDX-License-Identifier: Apache-2.0
// Products of matrices.
#include <algorithm>

#include "backends/tensorrt/converters.h"

namespace tessera::backends::tensorrt {

ValueOr product(Call& c, bool transpose_a, bool transpose_b) {
  const std::size_t a = c.shape(0).size(), b = c.shape(1).size();
  if (a < 2 || b < 2) return refuse("an operand is no matrix");
  const std::size_t rank = std::max(a, b);
  return c.layer(
      "matmul", {c.with_rank(0, rank), c.with_rank(1, rank)},
      {{"transpose_a", {transpose_a ? "1" : "0"}}, {"transpose_b", {transpose_b ? "1" : "0"}}});
}

ValueOr dense(Call& c) { return product(c, false, true); }

}  // namespace tessera::backends::tensorrt
