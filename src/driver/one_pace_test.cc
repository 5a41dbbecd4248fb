// SPDX-License-Identifier: Apache-2.0
#include "driver/one_pace.h"

#include <array>

#include <gtest/gtest.h>

namespace tessera::driver {
namespace {

using Parts = std::vector<PartOfList>;

TEST(OnePace, ListsThatAreOnePartComeInTheirOrder) {
  EXPECT_EQ(at_one_pace(std::array<std::size_t, 3>{5, 0, 24}, 24), (Parts{{0, 0, 5}, {2, 0, 24}}));
}

TEST(OnePace, ALongListIsNotGoneThroughBeforeTheOthers) {
  EXPECT_EQ(at_one_pace(std::array<std::size_t, 3>{8, 4, 1}, 2),
            (Parts{{0, 0, 2}, {1, 0, 2}, {0, 2, 4}, {2, 0, 1}, {0, 4, 6}, {1, 2, 4}, {0, 6, 8}}));
}

TEST(OnePace, NothingIsNothing) { EXPECT_TRUE(at_one_pace({}, 1).empty()); }

}  // namespace
}  // namespace tessera::driver
