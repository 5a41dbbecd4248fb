// SPDX-License-Identifier: Apache-2.0
// tessera/few_rows.cuh, whose threads are emulated here, beside sums of the same numbers one by
// one. tests/conformance runs it on a device.
#include "tir/few_rows.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "emit/testing/few_rows_emulation.h"
#include "support/f16.h"
#include "tir/fragments.h"

#define TK_FEW_ROWS_DEVICE "emit/testing/few_rows_emulation.h"
#include "tessera/few_rows.cuh"

namespace tessera::emit {
namespace {

constexpr int kThreads = 64;  // two warps

template <class T>
std::vector<T> random_floats(std::size_t count, unsigned seed, float scale = 1) {
  std::mt19937 random(seed);
  std::vector<T> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(T((static_cast<float>(random() % 2001) - 1000) / 1000 * scale));
  }
  return out;
}

// Memory as an access of 16 bytes wants it.
template <class T>
class Aligned {
 public:
  explicit Aligned(const std::vector<T>& values) : quads_(values.size() * sizeof(T) / 16 + 1) {
    std::memcpy(quads_.data(), values.data(), values.size() * sizeof(T));
  }
  const T* data() const { return reinterpret_cast<const T*>(quads_.data()); }

 private:
  std::vector<tk::quad> quads_;
};

// Runs a block of some columns, and compares with matrix(k, column).
template <int kColumns, int kTerms, class Matrix, class T, class Element>
void expect_sums(int rows, const Matrix& matrix, const Element& element, double tolerance) {
  const auto x = random_floats<T>(static_cast<std::size_t>(rows * kTerms), 3);
  const Aligned<T> data(x);
  std::vector<float> sums(static_cast<std::size_t>(rows * kColumns), NAN);
  tk::run_block(kThreads, [&] {
    matrix.template prefetch<kColumns>();
    tk::few_rows<kThreads, kColumns, kTerms>(sums.data(), rows, data.data(), matrix);
  });
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      double sum = 0, size = 0;
      for (int k = 0; k < kTerms; ++k) {
        const double term =
            static_cast<double>(static_cast<float>(x[static_cast<std::size_t>(row * kTerms + k)])) *
            element(k, column);
        sum += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(sums[static_cast<std::size_t>(row * kColumns + column)], sum, tolerance * size)
          << "row " << row << ", column " << column;
    }
  }
}

template <int kBits, int kBlock, int kTerms, class Scale, class T, class Zero, int kColumns = 32>
void expect_words(int rows, Zero zero, const std::vector<float>& zero_points) {
  constexpr int kStep = 256 / kBits, kSteps = (kTerms + kStep - 1) / kStep;
  constexpr int kBlocks = (kTerms + kBlock - 1) / kBlock;
  std::mt19937 random(1);
  std::vector<std::int32_t> words(kColumns / 16 * kSteps * 128);
  for (std::int32_t& w : words) w = static_cast<std::int32_t>(random());
  const auto scales = random_floats<Scale>(kColumns / 16 * kBlocks * 16, 2);
  const Aligned<std::int32_t> stored(words);
  const tk::words<kBits, kBlock, kTerms, Scale, Zero> matrix{stored.data(), scales.data(), zero};
  const auto element = [&](int k, int column) {
    const auto place = tir::fragment_place<std::int64_t>(column % 16, k, kBits);
    const std::int64_t word = (column / 16 * kSteps + place.step) * 128 + place.word;
    const auto bits = static_cast<std::uint32_t>(words[static_cast<std::size_t>(word)]);
    const double q = bits >> place.shift & ((1U << kBits) - 1);
    const std::size_t block =
        static_cast<std::size_t>((column / 16 * kBlocks + k / kBlock) * 16 + column % 16);
    const double point = zero_points.size() == 1 ? zero_points[0] : zero_points[block];
    return (q - point) * static_cast<double>(static_cast<float>(scales[block]));
  };
  expect_sums<kColumns, kTerms, decltype(matrix), T>(rows, matrix, element, 1e-6);
}

template <int kBits, int kBlock, int kTerms, class Scale, class T>
void expect_all_zeros(int rows) {
  constexpr float kMiddle = 1 << (kBits - 1);
  expect_words<kBits, kBlock, kTerms, Scale, T>(rows, tk::centred{}, {kMiddle});
  expect_words<kBits, kBlock, kTerms, Scale, T>(rows, tk::one_zero{1.5F - kMiddle}, {1.5F});
  const auto points = random_floats<Scale>(2 * ((kTerms + kBlock - 1) / kBlock) * 16, 5, kMiddle);
  std::vector<float> values;
  for (const Scale& p : points) values.push_back(static_cast<float>(p));
  expect_words<kBits, kBlock, kTerms, Scale, T>(rows, tk::zeros<Scale>{points.data()}, values);
}

TEST(FewRows, OfWordsOfFourBits) {
  for (const int rows : {1, 2, 5, 16})
    expect_all_zeros<4, 64, 320, tk::bfloat16, tk::float16>(rows);
  expect_all_zeros<4, 128, 1024, tk::float16, tk::bfloat16>(9);
  expect_all_zeros<4, 32, 160, float, tk::float16>(3);
  expect_all_zeros<4, 96, 200, float, float>(2);  // blocks end within a step, terms within a block
}
TEST(FewRows, OfWordsOfEightBits) {
  expect_all_zeros<8, 64, 256, tk::bfloat16, tk::float16>(1);
  expect_all_zeros<8, 32, 96, tk::bfloat16, tk::bfloat16>(16);
  expect_all_zeros<8, 128, 264, float, float>(5);
}
TEST(FewRows, OfWordsOfTwoBits) {
  expect_all_zeros<2, 128, 256, tk::bfloat16, tk::float16>(1);
  expect_all_zeros<2, 32, 160, float, tk::bfloat16>(11);
}
// Rows that no vector of eight divides, and whose terms end anywhere.
TEST(FewRows, OfOddLengths) {
  expect_all_zeros<4, 64, 99, tk::bfloat16, tk::float16>(2);
  expect_all_zeros<8, 32, 33, tk::bfloat16, float>(2);
  expect_all_zeros<4, 32, 7, tk::bfloat16, tk::bfloat16>(1);
}

template <int kColumns, int kTerms, class T>
void expect_plain(int rows, int columns) {
  const auto w = random_floats<T>(static_cast<std::size_t>(columns * kTerms), 4);
  const Aligned<T> stored(w);
  expect_sums<kColumns, kTerms, tk::rows_of<kTerms, T>, T>(
      rows, {stored.data(), columns},
      [&](int k, int column) {
        const int there = std::min(column, columns - 1);  // what fills up the tile is not kept
        return static_cast<double>(
            static_cast<float>(w[static_cast<std::size_t>(there * kTerms + k)]));
      },
      1e-6);
}

// More columns in a block: each thread multiplies its data with four tiles.
TEST(FewRows, OfManyColumns) {
  expect_words<4, 64, 192, tk::float16, tk::float16, tk::centred, 64>(3, {}, {8.0F});
  expect_words<8, 32, 96, tk::bfloat16, float, tk::one_zero, 64>(10, {-100.0F}, {28.0F});
}

// What the compiler takes a step for is what the kernel has of it.
template <int kBits, int kBlock, class Scale, class Zero>
void expect_bytes(const tir::Buffer& scale, const tir::Buffer& zero) {
  tir::FewRows p;
  p.scale = scale;
  p.zero = zero;
  p.bits = kBits;
  p.block = kBlock;
  EXPECT_EQ(tir::few_rows_step_bytes(p), (tk::words<kBits, kBlock, 4096, Scale, Zero>::kBytes));
}
TEST(FewRows, TakeTheSharedMemoryThatTheirBlocksAreChosenBy) {
  const auto of = [](DType t) { return tir::make_buffer("b", t, {tir::Expr(16)}); };
  expect_bytes<4, 128, tk::float16, tk::centred>(of(kFloat16), {});
  expect_bytes<4, 32, tk::bfloat16, tk::zeros<tk::bfloat16>>(of(kBFloat16), of(kBFloat16));
  expect_bytes<4, 96, float, tk::zeros<float>>(of(kFloat32), of(kFloat32));
  expect_bytes<8, 32, float, tk::one_zero>(of(kFloat32), {});
  expect_bytes<2, 64, tk::bfloat16, tk::centred>(of(kBFloat16), {});
  EXPECT_EQ(tir::few_rows_step_bytes({}), (tk::rows_of<4096, tk::float16>::kBytes));
  EXPECT_EQ(tir::kFewRowsBytes, tk::kFewRowsBytes);
}

TEST(FewRows, OfPlainMatrices) {
  expect_plain<16, 256, tk::float16>(1, 16);
  expect_plain<32, 104, tk::bfloat16>(7, 21);
  expect_plain<16, 8, tk::float16>(16, 3);
  expect_plain<32, 512, tk::float16>(9, 32);
}

}  // namespace
}  // namespace tessera::emit
