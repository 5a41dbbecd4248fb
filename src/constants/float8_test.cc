// SPDX-License-Identifier: Apache-2.0
#include "constants/float8.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace tessera {
namespace {

// From the tables of ONNX's documentation, "Float stored in 8 bits".
TEST(Float8, ValuesOfCodes) {
  EXPECT_EQ(float8_value(kFloat8E4M3, 0x38), 1);
  EXPECT_EQ(float8_value(kFloat8E4M3, 0xb8), -1);
  EXPECT_EQ(float8_value(kFloat8E4M3, 0x7e), 448);
  EXPECT_EQ(float8_value(kFloat8E4M3, 0x08), std::ldexp(1, -6));
  EXPECT_EQ(float8_value(kFloat8E4M3, 0x07), 0.875 * std::ldexp(1, -6));
  EXPECT_EQ(float8_value(kFloat8E4M3, 0x01), std::ldexp(1, -9));
  EXPECT_TRUE(std::isnan(float8_value(kFloat8E4M3, 0x7f)));
  EXPECT_EQ(float8_value(kFloat8E5M2, 0x3c), 1);
  EXPECT_EQ(float8_value(kFloat8E5M2, 0x7b), 57344);
  EXPECT_EQ(float8_value(kFloat8E5M2, 0x04), std::ldexp(1, -14));
  EXPECT_EQ(float8_value(kFloat8E5M2, 0x01), std::ldexp(1, -16));
  EXPECT_EQ(float8_value(kFloat8E5M2, 0xfc), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(float8_value(kFloat8E5M2, 0x7d)));
}

TEST(Float8, CodesOfTheirValuesComeBack) {
  for (const Float8Format* format : {&kFloat8E4M3, &kFloat8E5M2}) {
    for (int code = 0; code < 256; ++code) {
      const double value = float8_value(*format, code);
      if (std::isnan(value)) continue;
      EXPECT_EQ(float8_code(*format, value, false), code) << format->name;
    }
  }
}

// No other code is nearer, and of two that are as near the even one is taken.
TEST(Float8, RoundsToTheNearest) {
  std::mt19937 random(3);
  for (const Float8Format* format : {&kFloat8E4M3, &kFloat8E5M2}) {
    for (int i = 0; i < 20000; ++i) {
      const int exponent = static_cast<int>(random() % 40) - 22;
      const double value = std::ldexp(static_cast<double>(random() % 257) - 128, exponent - 6);
      const int found = float8_code(*format, value, true);
      const double apart = std::abs(float8_value(*format, found) - value);
      for (int code = 0; code < 256; ++code) {
        const double other = std::abs(float8_value(*format, code) - value);
        if (std::isnan(other)) continue;
        const bool is_zero = (code & 0x7f) == 0 && (found & 0x7f) == 0;
        EXPECT_FALSE(other < apart) << format->name << " " << value;
        const bool is_tie = other == apart && code != found && !is_zero;
        EXPECT_FALSE(is_tie && found % 2 != 0) << value;
      }
    }
  }
}

TEST(Float8, WhatIsTooLargeSaturatesOrNot) {
  EXPECT_EQ(float8_code(kFloat8E4M3, 464, false), 0x7e);  // a tie, to the even code
  EXPECT_EQ(float8_code(kFloat8E4M3, 464.001, false), 0x7f);
  EXPECT_EQ(float8_code(kFloat8E4M3, -1e30, true), 0xfe);
  EXPECT_EQ(float8_code(kFloat8E4M3, -HUGE_VAL, false), 0xff);
  EXPECT_EQ(float8_code(kFloat8E5M2, 61439, false), 0x7b);
  EXPECT_EQ(float8_code(kFloat8E5M2, 61440, false), 0x7c);
  EXPECT_EQ(float8_code(kFloat8E5M2, 61440, true), 0x7b);
  EXPECT_EQ(float8_code(kFloat8E5M2, HUGE_VAL, true), 0x7b);
  EXPECT_EQ(float8_code(kFloat8E4M3, NAN, true), 0x7f);
  EXPECT_EQ(float8_code(kFloat8E4M3, -0.0, true), 0x80);
}

// [columns, terms] as it is and transposed.
TEST(Float8, MatricesHaveScalesOfTheirLargest) {
  const float rows[] = {1, -2, 0.5, 896, 0, 448}, other_way[] = {1, 896, -2, 0, 0.5, 448};
  const Tensor matrix = Tensor({2, 3}, kFloat32, Blob::copy_of(std::as_bytes(std::span(rows))));
  const Tensor transposed =
      Tensor({3, 2}, kFloat32, Blob::copy_of(std::as_bytes(std::span(other_way))));
  for (const auto& [m, has_rows] : {std::pair(matrix, true), std::pair(transposed, false)}) {
    const Float8Matrix q = float8_matrix(m, has_rows, kFloat8E4M3, Float8Scales::kColumn);
    EXPECT_EQ(q.codes.shape, (std::vector<std::int64_t>{2, 3}));
    ASSERT_EQ(q.scale.shape, (std::vector<std::int64_t>{2}));
    EXPECT_FLOAT_EQ(q.scale.as<float>()[0], 2.F / 448);
    EXPECT_EQ(q.scale.as<float>()[1], 2);
    EXPECT_EQ(q.codes.as<std::uint8_t>()[1], 0xfe);
    EXPECT_EQ(q.codes.as<std::uint8_t>()[5], 0x76);  // 224
    EXPECT_LT(q.error, 1e-6);
    const Float8Matrix one = float8_matrix(m, has_rows, kFloat8E4M3, Float8Scales::kTensor);
    EXPECT_TRUE(one.scale.shape.empty());
    EXPECT_EQ(one.scale.as<float>()[0], 2);
  }
}

TEST(Float8, MatricesOfZerosHaveAScaleThatDivides) {
  const Tensor zeros = tensor_from_doubles({2, 16}, kFloat32, std::vector<double>(32, 0));
  const Float8Matrix q = float8_matrix(zeros, true, kFloat8E4M3, Float8Scales::kColumn);
  EXPECT_EQ(q.scale.as<float>()[1], 1);
  EXPECT_EQ(q.error, 0);
}

}  // namespace
}  // namespace tessera
