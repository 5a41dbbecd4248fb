// SPDX-License-Identifier: Apache-2.0
#include "support/time_left.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Measuring begins when compiling has ended, 150 seconds after the clock's zero.
TEST(TimeLeft, CountsFromTheFirstShareOn) {
  TimeLeft left;
  EXPECT_EQ(left.seen(1.0 / 6, 150), std::nullopt);
  EXPECT_EQ(left.seen(1.0 / 6, 154), std::nullopt);
  EXPECT_DOUBLE_EQ(*left.seen(2.0 / 6, 155), 20);
  EXPECT_DOUBLE_EQ(*left.seen(4.0 / 6, 162), 8);
  EXPECT_DOUBLE_EQ(*left.seen(1, 170), 0);
}

TEST(TimeLeft, IsNothingWhileTooLittleWasSeen) {
  TimeLeft left;
  EXPECT_EQ(left.seen(0, 0), std::nullopt);
  EXPECT_EQ(left.seen(0.04, 9), std::nullopt);
  EXPECT_EQ(left.seen(0.5, 0.4), std::nullopt);
  EXPECT_DOUBLE_EQ(*left.seen(0.5, 3), 3);
}

TEST(TimeLeft, AFallingShareIsOtherWork) {
  TimeLeft left;
  left.seen(0, 0);
  EXPECT_DOUBLE_EQ(*left.seen(1, 100), 0);
  EXPECT_EQ(left.seen(0.25, 200), std::nullopt);
  EXPECT_DOUBLE_EQ(*left.seen(0.5, 202), 4);
}

TEST(TimeLeft, IsNoLongerThanTheBudget) {
  TimeLeft left(60);
  left.seen(0, 10);
  EXPECT_DOUBLE_EQ(*left.seen(0.1, 20), 40);
  EXPECT_DOUBLE_EQ(*left.seen(0.9, 58), 2);
  EXPECT_DOUBLE_EQ(*left.seen(0.95, 61), 0);
}

}  // namespace
}  // namespace tessera
