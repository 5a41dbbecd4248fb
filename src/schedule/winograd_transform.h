// SPDX-License-Identifier: Apache-2.0
// Winograd's minimal filtering F(m x m, 3 x 3), after Lavin and Gray: a tile of m x m results of a
// convolution with 3 x 3 weights g is
//
//   Y = At [ (G g Gt) * (Bt d B) ] A        d: window x window elements, window = m + 2
//
// where * multiplies element by element. The points are 0, 1, -1 and infinity, and for m = 4 also
// 2 and -2.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "constants/tensor.h"
#include "schedule/panels.h"

namespace tessera::schedule {

struct WinogradTransform {
  std::int64_t tile, window;
  std::span<const double> data, weight, result;  // Bt, G and At, row by row

  std::span<const double> data_row(std::int64_t i) const { return row(data, i, window); }
  std::span<const double> weight_row(std::int64_t i) const { return row(weight, i, 3); }
  std::span<const double> result_row(std::int64_t i) const { return row(result, i, window); }

 private:
  static std::span<const double> row(std::span<const double> matrix, std::int64_t i,
                                     std::int64_t columns) {
    return matrix.subspan(static_cast<std::size_t>(i * columns), static_cast<std::size_t>(columns));
  }
};

// Of tiles of 2 or of 4.
const WinogradTransform& winograd_transform(std::int64_t tile);

// Where a weight has its elements.
struct WeightPlaces {
  std::int64_t first = 0;
  Axis out, in, row, column;
};
// U[window * window, out / block, in, block] = G g Gt; `block` divides `out`. Nothing where a
// number of it is none of float32, or so large that sums of products with it may overflow where
// those with g would not.
std::optional<Tensor> winograd_weight(const Tensor& weight, const WeightPlaces& places,
                                      const WinogradTransform& t, std::int64_t block);

}  // namespace tessera::schedule
