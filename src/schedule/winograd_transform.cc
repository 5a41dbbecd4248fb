// SPDX-License-Identifier: Apache-2.0
#include "schedule/winograd_transform.h"

#include <cmath>
#include <vector>

#include "support/check.h"

namespace tessera::schedule {
namespace {

constexpr double kData2[] = {1, 0,  -1, 0,  //
                             0, 1,  1,  0,  //
                             0, -1, 1,  0,  //
                             0, 1,  0,  -1};
constexpr double kWeight2[] = {1,   0,    0,    //
                               0.5, 0.5,  0.5,  //
                               0.5, -0.5, 0.5,  //
                               0,   0,    1};
constexpr double kResult2[] = {1, 1, 1,  0,  //
                               0, 1, -1, -1};

constexpr double kData4[] = {4, 0,  -5, 0,  1, 0,  //
                             0, -4, -4, 1,  1, 0,  //
                             0, 4,  -4, -1, 1, 0,  //
                             0, -2, -1, 2,  1, 0,  //
                             0, 2,  -1, -2, 1, 0,  //
                             0, 4,  0,  -5, 0, 1};
constexpr double kWeight4[] = {1.0 / 4,  0,         0,         //
                               -1.0 / 6, -1.0 / 6,  -1.0 / 6,  //
                               -1.0 / 6, 1.0 / 6,   -1.0 / 6,  //
                               1.0 / 24, 1.0 / 12,  1.0 / 6,   //
                               1.0 / 24, -1.0 / 12, 1.0 / 6,   //
                               0,        0,         1};
constexpr double kResult4[] = {1, 1, 1,  1, 1,  0,  //
                               0, 1, -1, 2, -2, 0,  //
                               0, 1, 1,  4, 4,  0,  //
                               0, 1, -1, 8, -8, 1};

constexpr WinogradTransform kTile2{2, 4, kData2, kWeight2, kResult2};
constexpr WinogradTransform kTile4{4, 6, kData4, kWeight4, kResult4};

constexpr double kLargest = 1e18;

// G g Gt of the 3 x 3 elements g.
void transformed(const double (&g)[3][3], const WinogradTransform& t, std::vector<double>& u) {
  u.clear();
  for (std::int64_t i = 0; i < t.window; ++i) {
    double half[3] = {};
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t r = 0; r < 3; ++r) half[c] += t.weight_row(i)[r] * g[r][c];
    }
    for (std::int64_t j = 0; j < t.window; ++j) {
      const auto row = t.weight_row(j);
      u.push_back(half[0] * row[0] + half[1] * row[1] + half[2] * row[2]);
    }
  }
}

}  // namespace

const WinogradTransform& winograd_transform(std::int64_t tile) {
  TESSERA_CHECK(tile == 2 || tile == 4, "Winograd's algorithm with tiles of {}", tile);
  return tile == 2 ? kTile2 : kTile4;
}

std::optional<Tensor> winograd_weight(const Tensor& weight, const WeightPlaces& p,
                                      const WinogradTransform& t, std::int64_t block) {
  const float* w = weight.as<float>().data();
  const std::int64_t plane = p.in.size * p.out.size, number = t.window * t.window;
  std::vector<float> out(static_cast<std::size_t>(number * plane));
  std::vector<double> u;
  double g[3][3];
  for (std::int64_t i = 0; i < p.in.size; ++i) {
    for (std::int64_t o = 0; o < p.out.size; ++o) {
      const std::int64_t first = p.first + o * p.out.stride + i * p.in.stride;
      for (std::int64_t r = 0; r < 3; ++r) {
        for (std::int64_t c = 0; c < 3; ++c) {
          g[r][c] = static_cast<double>(w[first + r * p.row.stride + c * p.column.stride]);
        }
      }
      transformed(g, t, u);
      const std::int64_t at = (o / block * p.in.size + i) * block + o % block;
      for (std::int64_t n = 0; n < number; ++n) {
        const double value = u[static_cast<std::size_t>(n)];
        if (!(std::abs(value) < kLargest)) return std::nullopt;
        out[static_cast<std::size_t>(n * plane + at)] = static_cast<float>(value);
      }
    }
  }
  return Tensor::of({number, p.out.size / block, p.in.size, block}, kFloat32, out);
}

}  // namespace tessera::schedule
