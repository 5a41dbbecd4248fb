// SPDX-License-Identifier: Apache-2.0
#include "types/likely_size.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

Symbol symbol(std::int64_t min, std::int64_t max, std::int64_t step = 1,
              std::optional<std::int64_t> likely = {}) {
  return {"n", min, max, step, likely};
}

TEST(LikelySize, IsInTheRange) {
  EXPECT_EQ(likely_size(Symbol()), 128);
  EXPECT_EQ(likely_size(symbol(1, 512, 1, 384)), 384);
  EXPECT_EQ(likely_size(symbol(1, 100)), 100);
  EXPECT_EQ(likely_size(symbol(200, -1)), 200);
  EXPECT_EQ(likely_size(symbol(3, 512, 50)), 103);
  EXPECT_EQ(likely_size(symbol(0, 0)), 0);
}

TEST(LikelySize, OfAllSymbols) {
  EXPECT_EQ(likely_sizes({{"batch", symbol(1, 8)}, {"seq", symbol(1, -1, 1, 384)}}),
            (std::map<std::string, Dim>{{"batch", Dim(8)}, {"seq", Dim(384)}}));
}

TEST(LikelySize, OfWhatIsMadeOfSymbols) {
  const auto likely = likely_sizes({{"batch", symbol(1, 8)}});
  EXPECT_EQ(likely_value(Dim::symbol("batch") * Dim(3), likely), 24);
  EXPECT_EQ(likely_value(Dim::unknown(), likely), 128);
  EXPECT_EQ(likely_value(Dim::symbol("other"), likely), 128);
}

}  // namespace
}  // namespace tessera
