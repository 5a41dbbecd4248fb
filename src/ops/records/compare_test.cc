// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluation/compare.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace tessera::ops {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Tensor of(const std::vector<float>& values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, kFloat32, values);
}

// More elements than are read at once, with what differs at each end of what is.
TEST(Compare, FindsADifferenceWhereverItIs) {
  const std::vector<float> ones(3000, 1);
  for (const std::size_t at : {0, 1023, 1024, 2047, 2999}) {
    std::vector<float> other = ones;
    other[at] = 1.5f;
    EXPECT_EQ(largest_difference(of(other), of(ones)), 0.5) << at;
    EXPECT_EQ(relative_difference(of(other), of(ones)), 0.5) << at;
    EXPECT_DOUBLE_EQ(relative_difference(of(ones), of(other)), 0.5 / 1.5) << at;
  }
  EXPECT_EQ(relative_difference(of(ones), of(ones)), 0);
}

TEST(Compare, WhatIsNoNumberMustBeInTheSamePlaces) {
  const Tensor odd = of({1, kNaN, kInfinity, -4});
  EXPECT_EQ(largest_difference(odd, odd), 0);
  // The largest that is a number is what counts.
  EXPECT_EQ(relative_difference(of({1, kNaN, kInfinity, -3}), odd), 0.25);
  for (const float other : {2.0f, kInfinity, -kInfinity}) {
    EXPECT_TRUE(std::isinf(relative_difference(of({1, other, kInfinity, -4}), odd))) << other;
  }
  EXPECT_TRUE(std::isinf(relative_difference(of({1, kNaN, -kInfinity, -4}), odd)));
  EXPECT_TRUE(std::isinf(largest_difference(of({1}), of({1, 1}))));
}

}  // namespace
}  // namespace tessera::ops
