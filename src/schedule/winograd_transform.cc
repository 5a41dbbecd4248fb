// SPDX-License-Identifier: Apache-2.0
#include "schedule/winograd_transform.h"

#include <cmath>
#include <functional>
#include <numeric>
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

// Of a transformed weight. In float16 more is infinite; in the others, sums of products may be.
double largest(DType dtype) { return dtype == kFloat16 ? 65504 : 1e18; }

constexpr double kEvenData2[] = {0.5, 0,    -0.5, 0,  //
                                 0,   0.5,  0.5,  0,  //
                                 0,   -0.5, 0.5,  0,  //
                                 0,   0.5,  0,    -0.5};
constexpr double kEvenWeight2[] = {2, 0,  0,  //
                                   1, 1,  1,  //
                                   1, -1, 1,  //
                                   0, 0,  2};

constexpr double kNinth = 1.0 / 9, kSixth = 1.0 / 6, kTwelfth = 1.0 / 12;
constexpr double kSquares = 97.0 / 288;  // an eighth of 4/9 + 9/4
constexpr double kEvenData4[] = {.125, 0,       -kSquares, 0,         .125, 0,  //
                                 0,    -.1875,  -.28125,   kTwelfth,  .125, 0,  //
                                 0,    .1875,   -.28125,   -kTwelfth, .125, 0,  //
                                 0,    -kSixth, -kNinth,   .375,      .25,  0,  //
                                 0,    kSixth,  -kNinth,   -.375,     .25,  0,  //
                                 0,    .125,    0,         -kSquares, 0,    .125};
constexpr double kEvenWeight4[] = {8,           0,           0,            //
                                   -324.0 / 65, -216.0 / 65, -144.0 / 65,  //
                                   -324.0 / 65, 216.0 / 65,  -144.0 / 65,  //
                                   32.0 / 65,   48.0 / 65,   72.0 / 65,    //
                                   32.0 / 65,   -48.0 / 65,  72.0 / 65,    //
                                   0,           0,           8};
constexpr double kTwoThirds = 2.0 / 3, kCube = 8.0 / 27;
constexpr double kEvenResult4[] = {1, 1,          1,           1,     1,      0,  //
                                   0, kTwoThirds, -kTwoThirds, 1.5,   -1.5,   0,  //
                                   0, 4 * kNinth, 4 * kNinth,  2.25,  2.25,   0,  //
                                   0, kCube,      -kCube,      3.375, -3.375, 1};

constexpr WinogradTransform kEvenTile2{2, 4, kEvenData2, kEvenWeight2, kResult2};
constexpr WinogradTransform kEvenTile4{4, 6, kEvenData4, kEvenWeight4, kEvenResult4};

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

const WinogradTransform& even_winograd_transform(std::int64_t tile) {
  TESSERA_CHECK(tile == 2 || tile == 4, "Winograd's algorithm with tiles of {}", tile);
  return tile == 2 ? kEvenTile2 : kEvenTile4;
}

std::optional<Tensor> winograd_weight(const Tensor& weight, const WeightPlaces& p,
                                      const WinogradTransform& t, const WinogradWeight& form) {
  const std::int64_t number = t.window * t.window;
  const std::int64_t plane =
      std::accumulate(form.shape.begin(), form.shape.end(), std::int64_t{1}, std::multiplies<>());
  std::vector<double> out(static_cast<std::size_t>(number * plane));
  std::vector<double> u;
  double g[3][3];
  for (std::int64_t i = 0; i < p.in.size; ++i) {
    for (std::int64_t o = 0; o < p.out.size; ++o) {
      const std::int64_t first = p.first + o * p.out.stride + i * p.in.stride;
      for (std::int64_t r = 0; r < 3; ++r) {
        for (std::int64_t c = 0; c < 3; ++c) {
          g[r][c] = element_as_double(weight, first + r * p.row.stride + c * p.column.stride);
        }
      }
      transformed(g, t, u);
      const std::int64_t at = form.place(o, i);
      for (std::int64_t n = 0; n < number; ++n) {
        const double value = u[static_cast<std::size_t>(n)];
        if (!(std::abs(value) < largest(form.dtype))) return std::nullopt;
        out[static_cast<std::size_t>(n * plane + at)] = value;
      }
    }
  }
  std::vector<std::int64_t> shape{number};
  shape.insert(shape.end(), form.shape.begin(), form.shape.end());
  return tensor_from_doubles(std::move(shape), form.dtype, out);
}

std::optional<Tensor> winograd_weight(const Tensor& weight, const WeightPlaces& p,
                                      const WinogradTransform& t, std::int64_t block) {
  const auto place = [&](std::int64_t out, std::int64_t in) {
    return (out / block * p.in.size + in) * block + out % block;
  };
  return winograd_weight(weight, p, t,
                         WinogradWeight{{p.out.size / block, p.in.size, block}, kFloat32, place});
}

}  // namespace tessera::schedule
