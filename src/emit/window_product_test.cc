// SPDX-License-Identifier: Apache-2.0
// tessera/window_product.cuh, whose threads are emulated here, beside sums of the same numbers one
// by one.
#include "tir/window_product.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "emit/testing/few_rows_emulation.h"

#define TK_FEW_ROWS_DEVICE "emit/testing/few_rows_emulation.h"
#include "tessera/window_product.cuh"

namespace tessera::emit {
namespace {

// Numbers of 16 bits, aligned as vectors are; NaN where a sum may not look.
template <class T>
class Numbers {
 public:
  template <class Used>
  Numbers(int count, unsigned seed, const Used& used)
      : memory_(static_cast<std::size_t>(count / 8 + 1)) {
    std::mt19937 random(seed);
    for (int i = 0; i < count; ++i) {
      const auto number = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 1000;
      const T value(used(i) ? number : NAN);
      std::memcpy(reinterpret_cast<char*>(memory_.data()) + i * 2, &value, 2);
    }
  }
  const T* data() const { return reinterpret_cast<const T*>(memory_.data()); }
  double operator[](int i) const { return static_cast<double>(static_cast<float>(data()[i])); }

 private:
  std::vector<tk::quad> memory_;
};

// So that the sums' memory holds the patch, by the same steps as schedules take.
template <class Tile, class Window>
constexpr int row_of_sums() {
  int row = Tile::kAcross + 8;
  const int places = Tile::kPasses * Tile::kPlaces;
  while (places * row * 4 < tk::window_patch<Tile, Window>::kAll * 16) row += 16;
  return row;
}
template <class Window, int kImages, int kRows, int kColumns, int kGroups, int kChannels,
          int kResults, int kAtOnce = kImages>
struct tile_of {
  template <int kSums>
  using with =
      tk::window_tile<kImages, kAtOnce, kRows, kColumns, kGroups, kChannels, kResults, kSums>;
  using tile = with<row_of_sums<with<kGroups * kResults>, Window>()>;
};
template <class Window, int... kSizes>
using tile = typename tile_of<Window, kSizes...>::tile;

// What schedules count on is what the header takes.
template <class Tile, class Window, class Image>
void expect_bytes() {
  const auto buffer = [](DType dtype, std::vector<tir::Expr> shape) {
    return tir::make_buffer("b", dtype, std::move(shape));
  };
  constexpr int kImages = Tile::kPasses * Tile::kImages;
  tir::WindowProduct p;
  p.image = buffer(kFloat16, {tir::Expr(kImages), tir::Expr(Image::kHeight),
                              tir::Expr(Image::kWidth), tir::Expr(Image::kChannels)});
  p.weight = buffer(kFloat16, {tir::Expr(Window::kRows), tir::Expr(Window::kColumns),
                               tir::Expr(Tile::kChannels), tir::Expr(Image::kResults)});
  p.sums = buffer(kFloat32, {tir::Expr(kImages), tir::Expr(Tile::kRows), tir::Expr(Tile::kColumns),
                             tir::Expr(Tile::kSums)});
  p.results = Tile::kAcross;
  p.down = {Window::kDown, Window::kRowsApart};
  p.across = {Window::kAcross, Window::kColumnsApart};
  EXPECT_EQ(tir::window_product_bytes(p), (tk::window_memory<Tile, Window>::kBytes));
  EXPECT_EQ(p.row_of_sums(), Tile::kSums);
  EXPECT_EQ(p.images_at_once(), Tile::kImages);
}

// The first of all groups, of windows that begin outside of the image. `kMore` groups stand beside
// those of the block, and nobody may read them.
template <class Tile, class Window, int kHeight, int kWidth, class T, int kMore = 1>
void expect_sums(int top, int left) {
  constexpr int kGroups = Tile::kGroups + kMore, kIn = kGroups * Tile::kChannels,
                kOut = kGroups * Tile::kResults;
  using Image = tk::window_image<kHeight, kWidth, kIn, kOut>;
  expect_bytes<Tile, Window, Image>();
  const auto is_own = [](int of, int all) { return [=](int i) { return i % all < of; }; };
  constexpr int kPlaces = Tile::kPasses * Tile::kPlaces;
  const Numbers<T> image(Tile::kPasses * Tile::kImages * kHeight * kWidth * kIn, 1,
                         is_own(Tile::kGroups * Tile::kChannels, kIn));
  const Numbers<T> weight(Window::kRows * Window::kColumns * Tile::kChannels * kOut, 2,
                          is_own(Tile::kAcross, kOut));
  std::vector<tk::quad> memory(kPlaces * Tile::kSums / 4);
  auto* const sums = reinterpret_cast<float*>(memory.data());
  tk::run_block(256, [&] {
    tk::window_product<Tile, Window, Image>(sums, image.data(), weight.data(), top, left);
  });
  const auto pixel = [&](int number, int y, int x, int channel) {
    const bool inside = y >= 0 && y < kHeight && x >= 0 && x < kWidth;
    return inside ? image[((number * kHeight + y) * kWidth + x) * kIn + channel] : 0;
  };
  for (int at = 0; at < kPlaces * Tile::kAcross; ++at) {
    const int result = at % Tile::kAcross, place = at / Tile::kAcross;
    const int column = place % Tile::kColumns, row = place / Tile::kColumns % Tile::kRows;
    double sum = 0;
    for (int k = 0; k < Window::kRows * Window::kColumns * Tile::kChannels; ++k) {
      const int step = k / Tile::kChannels, channel = k % Tile::kChannels;
      const int y = top + row * Window::kDown + step / Window::kColumns * Window::kRowsApart;
      const int x =
          left + column * Window::kAcross + step % Window::kColumns * Window::kColumnsApart;
      sum += pixel(place / (Tile::kColumns * Tile::kRows), y, x,
                   result / Tile::kResults * Tile::kChannels + channel) *
             weight[k * kOut + result];
    }
    ASSERT_NEAR(sums[place * Tile::kSums + result], sum, 1e-3)
        << "place " << place << ", result " << result;
  }
}

TEST(WindowProduct, EqualsSumsOneByOne) {
  using Plain = tk::window_form<3, 3, 1, 1, 1, 1>;
  expect_sums<tile<Plain, 1, 7, 14, 2, 16, 16>, Plain, 14, 14, tk::float16>(-1, -1);
  expect_sums<tile<Plain, 2, 7, 7, 1, 32, 32>, Plain, 7, 7, tk::bfloat16>(-1, -1);
  expect_sums<tile<Plain, 1, 4, 9, 4, 8, 8>, Plain, 5, 9, tk::float16>(3, -1);
}
// Images one after the other, where what all windows see is too large.
TEST(WindowProduct, OfImagesInPasses) {
  using Window = tk::window_form<3, 3, 2, 2, 1, 1>;
  expect_sums<tile<Window, 2, 7, 7, 1, 32, 32, 1>, Window, 14, 14, tk::float16>(-1, -1);
  expect_sums<tile<Window, 3, 3, 4, 2, 24, 16, 1>, Window, 6, 8, tk::bfloat16>(-1, -1);
}
TEST(WindowProduct, OfStridesAndPlacesThatLieApart) {
  expect_sums<tile<tk::window_form<3, 3, 2, 2, 1, 1>, 1, 7, 7, 1, 32, 32>,
              tk::window_form<3, 3, 2, 2, 1, 1>, 14, 14, tk::float16>(-1, -1);
  expect_sums<tile<tk::window_form<3, 2, 1, 3, 2, 2>, 1, 3, 5, 2, 16, 16>,
              tk::window_form<3, 2, 1, 3, 2, 2>, 11, 13, tk::float16>(-2, -1);
  expect_sums<tile<tk::window_form<1, 5, 2, 1, 1, 3>, 1, 4, 4, 8, 8, 8>,
              tk::window_form<1, 5, 2, 1, 1, 3>, 9, 9, tk::bfloat16>(0, -6);
}
// Of 24 channels no two of which fill a product, of results that fill no pair of eights.
TEST(WindowProduct, OfOddNumbersOfVectors) {
  using Window = tk::window_form<3, 3, 1, 1, 1, 1>;
  expect_sums<tile<Window, 1, 5, 3, 1, 24, 24>, Window, 6, 4, tk::float16>(-1, -1);
  expect_sums<tile<Window, 1, 2, 9, 2, 8, 24>, Window, 3, 9, tk::float16>(-1, -1);
  expect_sums<tile<Window, 1, 2, 9, 1, 40, 8>, Window, 3, 9, tk::bfloat16>(-1, -1);
}
// Weights that come in steps, and parts of a group's results.
TEST(WindowProduct, OfManyTerms) {
  using Window = tk::window_form<3, 3, 1, 1, 1, 1>;
  expect_sums<tile<Window, 1, 4, 7, 1, 64, 32>, Window, 7, 7, tk::float16>(-1, -1);
  expect_sums<tile<Window, 1, 2, 8, 1, 48, 48>, Window, 7, 8, tk::float16>(2, -1);
  expect_sums<tile<tk::window_form<7, 7, 1, 1, 1, 1>, 1, 2, 6, 1, 16, 16>,
              tk::window_form<7, 7, 1, 1, 1, 1>, 7, 6, tk::bfloat16>(-3, -3);
  expect_sums<tile<tk::window_form<5, 5, 1, 1, 1, 1>, 1, 2, 4, 2, 24, 16>,
              tk::window_form<5, 5, 1, 1, 1, 1>, 7, 6, tk::bfloat16>(-2, -2);
}

}  // namespace
}  // namespace tessera::emit
