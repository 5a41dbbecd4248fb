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
#include <functional>
#include <optional>
#include <span>
#include <vector>

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
// The same for operands of 16 bits: the rows of Bt add up to 1 at most, so that no tile leaves the
// range of its elements, and for m = 4 the points are 2/3, -2/3, 3/2 and -3/2 in place of whole
// numbers, with which errors are a quarter.
const WinogradTransform& even_winograd_transform(std::int64_t tile);

// Errors of float32 grow with the channels that are summed: beyond these they exceed what an
// operator may be off. winograd_test.cc has the numbers.
constexpr std::int64_t most_winograd_channels(std::int64_t tile) {
  return tile == 4 ? 512 : 1 << 16;
}

// Where a weight has its elements.
struct WeightPlaces {
  std::int64_t first = 0;
  Axis out, in, row, column;
};
// What U is: its shape behind the elements of the window, zeros where there is no channel, and
// where in one of those matrices the number of a result and a channel is.
struct WinogradWeight {
  std::vector<std::int64_t> shape;
  DType dtype = kFloat32;
  std::function<std::int64_t(std::int64_t out, std::int64_t in)> place;
};
// U[window * window, ...] = G g Gt. Nothing where a number of it is none of the type, or so large
// that sums of products with it may overflow where those with g would not.
std::optional<Tensor> winograd_weight(const Tensor& weight, const WeightPlaces& places,
                                      const WinogradTransform& t, const WinogradWeight& form);
// U[window * window, out / block, in, block] in float32; `block` divides `out`.
std::optional<Tensor> winograd_weight(const Tensor& weight, const WeightPlaces& places,
                                      const WinogradTransform& t, std::int64_t block);

}  // namespace tessera::schedule
