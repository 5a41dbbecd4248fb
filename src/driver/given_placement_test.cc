// SPDX-License-Identifier: Apache-2.0
#include "driver/given_placement.h"

#include <gtest/gtest.h>

namespace tessera::driver {
namespace {

TEST(GivenPlacement, IsTextThatIsReadAgain) {
  const GivenPlacement placement{{0, 0, -1, 1, 1, 1, 0}, {"onednn", "blas"}};
  EXPECT_EQ(to_string(placement), "2 onednn, 1 native, 3 blas, 1 onednn");
  const auto again = parse_placement(to_string(placement));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->by_node, placement.by_node);
  EXPECT_EQ(again->back_ends, placement.back_ends);
}

TEST(GivenPlacement, WhatIsNoPlacementIsNothing) {
  for (const char* text : {"nothing better", "3", "3 ", " native", "x native", "-1 native",
                           "99999999999 native", "3 native, ,", "3  native"}) {
    const auto parsed = parse_placement(text);
    EXPECT_TRUE(!parsed || to_string(*parsed) == text) << text;
  }
  EXPECT_FALSE(parse_placement("nothing better"));
  EXPECT_FALSE(parse_placement("99999999999 native"));
  EXPECT_TRUE(parse_placement("")->by_node.empty());
}

}  // namespace
}  // namespace tessera::driver
