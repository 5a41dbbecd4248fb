// SPDX-License-Identifier: Apache-2.0
#include "support/f16.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Float16, KnownPatterns) {
  EXPECT_EQ(float16_bits(0.0), 0x0000);
  EXPECT_EQ(float16_bits(-0.0), 0x8000);
  EXPECT_EQ(float16_bits(1.0), 0x3c00);
  EXPECT_EQ(float16_bits(-2.0), 0xc000);
  EXPECT_EQ(float16_bits(65504.0), 0x7bff);
  EXPECT_EQ(float16_bits(65519.99), 0x7bff);
  EXPECT_EQ(float16_bits(65520.0), 0x7c00);  // half-way to 65536, even: infinity
  EXPECT_EQ(float16_bits(1e300), 0x7c00);
  EXPECT_EQ(float16_bits(0x1p-24), 0x0001);
  EXPECT_EQ(float16_bits(0x1p-25), 0x0000);  // half-way to zero, even
  EXPECT_EQ(float16_bits(0x1.000001p-25), 0x0001);
  EXPECT_EQ(float16_bits(0x1.ffcp-15), 0x03ff + 1);  // rounds up to the smallest normal number
  EXPECT_EQ(float16_bits(std::numeric_limits<double>::denorm_min()), 0);
}

TEST(Float16, NarrowsOnce) {
  // To float first, and this would become a tie that rounds down.
  EXPECT_EQ(float16_bits(1.0 + 0x1p-11 + 0x1p-40), 0x3c01);
  EXPECT_EQ(bfloat16_bits(1.0 + 0x1p-8 + 0x1p-50), 0x3f81);
  EXPECT_EQ(bfloat16_bits(1.0 + 0x1p-8), 0x3f80);
  EXPECT_EQ(bfloat16_bits(1.0 + 3 * 0x1p-8), 0x3f82);
}

TEST(Float16, NanStaysNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(float16_value(float16_bits(nan))));
  EXPECT_TRUE(std::isnan(bfloat16_value(bfloat16_bits(-nan))));
  // A signalling NaN whose payload lies only in bits that are cut off.
  EXPECT_TRUE(
      std::isnan(float16_value(float16_bits(std::bit_cast<double>(0x7ff0000000000001ull)))));
}

TEST(Float16, EveryPatternSurvivesARoundTrip) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const float half = float16_value(pattern), brain = bfloat16_value(pattern);
    ASSERT_TRUE(std::isnan(half) || float16_bits(half) == pattern) << bits;
    ASSERT_TRUE(std::isnan(brain) || bfloat16_bits(brain) == pattern) << bits;
  }
  EXPECT_EQ(float16_value(0xfc00), -kInfinity);
}

// Against the definition: the nearest of the neighbouring values, the even one on a tie.
template <class Value>
void expect_nearest(double value, std::uint16_t bits, Value value_of) {
  if (std::isinf(value_of(bits))) return;
  const double error = std::abs(value_of(bits) - value);
  for (const int step : {-1, 1}) {
    const auto neighbour = static_cast<std::uint16_t>(bits + step);
    if (((neighbour ^ bits) & 0x8000) != 0 || !std::isfinite(value_of(neighbour))) continue;
    const double other = std::abs(value_of(neighbour) - value);
    ASSERT_TRUE(error < other || (error == other && (bits & 1) == 0)) << value << " " << bits;
  }
}

TEST(Float16, RoundsToTheNearest) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const double value =
        std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 48) - 80);
    expect_nearest(value, float16_bits(value), float16_value);
    expect_nearest(-value, bfloat16_bits(-value), bfloat16_value);
  }
}

TEST(Float16, ManyAtOnceAreTheSameAsOneByOne) {
  std::mt19937 random(8);
  std::vector<float> values = {0.0F, -0.0F, 65504.0F, 65520.0F, 0x1p-25F, 0x1.8p-24F, 0x1p-126F};
  for (const std::uint32_t bits : {0x7f800001U, 0xffc12345U, 0x7f800000U, 0x7f7fffffU, 1U}) {
    values.push_back(std::bit_cast<float>(bits));
  }
  while (values.size() < 200'003) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    values.push_back(std::ldexp(1 + static_cast<float>(random() >> 8) * 0x1p-24F,
                                static_cast<int>(random() % 48) - 30));
  }
  std::vector<std::uint16_t> half(values.size()), brain(values.size());
  to_float16(values, half.data());
  to_bfloat16(values, brain.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(half[i], float16_bits(values[i])) << std::bit_cast<std::uint32_t>(values[i]);
    ASSERT_EQ(brain[i], bfloat16_bits(values[i])) << std::bit_cast<std::uint32_t>(values[i]);
  }
}

}  // namespace
}  // namespace tessera
