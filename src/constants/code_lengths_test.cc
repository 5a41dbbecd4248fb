// SPDX-License-Identifier: Apache-2.0
#include "constants/code_lengths.h"

#include <numeric>

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Counts = std::vector<std::uint64_t>;
using Lengths = std::vector<unsigned>;

TEST(CodeLengths, AreThoseOfHuffmanWhereNothingIsTooLong) {
  EXPECT_EQ(code_lengths(Counts{5, 1, 1, 2}, 11), (Lengths{1, 3, 3, 2}));
  EXPECT_EQ(code_lengths(Counts{0, 7, 0, 7}, 11), (Lengths{0, 1, 0, 1}));
}

// 1, 1, 2, 4, 8: Huffman's are 4, 4, 3, 2, 1. With three bits the best costs 2 * 8 + 2 * 4 + 3 * 4.
TEST(CodeLengths, AreAtMostAsLongAsAsked) {
  const Counts counts = {1, 1, 2, 4, 8};
  EXPECT_EQ(code_lengths(counts, 4), (Lengths{4, 4, 3, 2, 1}));
  const Lengths limited = code_lengths(counts, 3);
  unsigned cost = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) cost += limited[i] * unsigned(counts[i]);
  EXPECT_EQ(cost, 1 * 8u + 3 * (4u + 2 + 1 + 1));
}

TEST(CodeLengths, AreACompleteCode) {
  Counts counts(256);
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = std::uint64_t{1} << i % 50;
  const Lengths lengths = code_lengths(counts, 11);
  unsigned sum = 0;
  for (const unsigned length : lengths) {
    ASSERT_GE(length, 1u);
    ASSERT_LE(length, 11u);
    sum += 1u << (11 - length);
  }
  EXPECT_EQ(sum, 1u << 11);
}

}  // namespace
}  // namespace tessera
