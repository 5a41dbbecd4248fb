// SPDX-License-Identifier: Apache-2.0
#include "tir/random_function.h"

#include <gtest/gtest.h>

#include "tir/compare.h"

namespace tessera::tir {

TEST(RandomFunctionsTest, TheSeedDecides) {
  EXPECT_TRUE(equal(RandomFunctions(7).function(), RandomFunctions(7).function()));
  EXPECT_FALSE(equal(RandomFunctions(7).function(), RandomFunctions(8).function()));
}

}  // namespace tessera::tir
