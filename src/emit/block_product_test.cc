// SPDX-License-Identifier: Apache-2.0
// tessera/block_product.cuh, whose threads are emulated here, beside sums of the same numbers one
// by one.
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "emit/testing/few_rows_emulation.h"

#define TK_FEW_ROWS_DEVICE "emit/testing/few_rows_emulation.h"
#include "tessera/block_product.cuh"

namespace tessera::emit {
namespace {

template <class T>
float value_at(const std::vector<tk::quad>& memory, int at) {
  T value;
  std::memcpy(&value, reinterpret_cast<const char*>(memory.data()) + at * 2, 2);
  return static_cast<float>(value);
}

// `used`: the others are NaN, which no sum may have seen.
template <class T, class Used>
std::vector<tk::quad> random_numbers(int count, unsigned seed, const Used& used) {
  std::mt19937 random(seed);
  std::vector<tk::quad> memory(static_cast<std::size_t>(count / 8 + 1));
  for (int i = 0; i < count; ++i) {
    const auto number = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 1000;
    const T value(used(i) ? number : NAN);
    std::memcpy(reinterpret_cast<char*>(memory.data()) + i * 2, &value, 2);
  }
  return memory;
}

template <int kRows, int kColumns, int kTerms, class T>
void expect_sums() {
  constexpr int kPlaces = (kTerms + 7) / 8 * 8, kAcross = kColumns + 32;
  const auto a = random_numbers<T>(kRows * kPlaces, 1, [](int) { return true; });
  const auto b =
      random_numbers<T>(kTerms * kAcross, 2, [](int i) { return i % kAcross < kColumns; });
  std::vector<tk::float_pair> sums(kRows * kAcross / 2, {{-7, -7}});
  const auto* first = reinterpret_cast<const T*>(a.data());
  const auto* second = reinterpret_cast<const T*>(b.data());
  tk::run_block(256, [&] {
    tk::block_product<kRows, kColumns, kTerms, kPlaces, kAcross>(sums[0].e, first, second);
  });
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kAcross; ++column) {
      const int at = row * kAcross + column;
      double sum = column < kColumns ? 0 : -7;
      for (int k = 0; k < kTerms && column < kColumns; ++k) {
        sum += static_cast<double>(value_at<T>(a, row * kPlaces + k)) *
               static_cast<double>(value_at<T>(b, k * kAcross + column));
      }
      ASSERT_NEAR(sums[static_cast<std::size_t>(at / 2)].e[at % 2], sum, 1e-5 * kTerms)
          << "row " << row << ", column " << column;
    }
  }
}

TEST(BlockProduct, EqualsSumsOneByOne) {
  expect_sums<64, 32, 64, tk::float16>();
  expect_sums<64, 64, 96, tk::float16>();
  expect_sums<64, 128, 32, tk::float16>();
  expect_sums<128, 64, 40, tk::bfloat16>();
  expect_sums<128, 128, 160, tk::bfloat16>();
}
// The rows of `a` end with places beyond the terms, where there is anything.
TEST(BlockProduct, OfTermsThatFillNoStep) {
  expect_sums<64, 64, 8, tk::float16>();
  expect_sums<64, 32, 19, tk::bfloat16>();
  expect_sums<128, 128, 45, tk::float16>();
}

}  // namespace
}  // namespace tessera::emit
