// SPDX-License-Identifier: Apache-2.0
#include "passes/narrow_constant.h"

#include <limits>

#include <gtest/gtest.h>

namespace tessera::passes {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargest = std::numeric_limits<float>::max();  // "no bound", as models write it

// Ones but for one element, wherever blocks begin and end.
Tensor ones_but(std::int64_t at, double value) {
  std::vector<double> values(101, 1);
  values[static_cast<std::size_t>(at)] = value;
  return tensor_from_doubles({101}, kFloat32, values);
}

TEST(NarrowConstant, FindsWhatDoesNotFit) {
  for (const std::int64_t at : {0, 31, 32, 70, 95, 96, 100}) {
    for (const double value : {65520.0, -65520.0, 1e30}) {
      EXPECT_EQ(unrepresentable(ones_but(at, value), kFloat16), static_cast<float>(value)) << at;
    }
    for (const double value : {65519.0, kInfinity, -kInfinity, kLargest, -kLargest, 1e-30}) {
      EXPECT_EQ(unrepresentable(ones_but(at, value), kFloat16), std::nullopt) << at << value;
    }
    EXPECT_EQ(unrepresentable(ones_but(at, 1e30), kBFloat16), std::nullopt) << at;
  }
}

TEST(NarrowConstant, WhatMeansNoBoundIsTheLargestNumber) {
  for (const std::int64_t at : {0, 31, 32, 70, 95, 96, 100}) {
    const auto narrow = [&](double value) {
      const Tensor out = narrowed(ones_but(at, value), kFloat16);
      EXPECT_EQ(element_as_double(out, (at + 1) % 101), 1) << at;
      return element_as_double(out, at);
    };
    EXPECT_EQ(narrow(kLargest), 65504) << at;
    EXPECT_EQ(narrow(-kLargest), -65504) << at;
    EXPECT_EQ(narrow(kInfinity), kInfinity) << at;
    EXPECT_EQ(narrow(-2.5), -2.5) << at;
  }
}

}  // namespace
}  // namespace tessera::passes
