// SPDX-License-Identifier: Apache-2.0
#include "plan/live_together.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace tessera::plan {
namespace {

bool share_a_tick(const Need& a, const Need& b) {
  for (const TickRange& x : a.live) {
    for (const TickRange& y : b.live) {
      if (x.first <= y.last && y.first <= x.last) return true;
    }
  }
  return false;
}

TEST(LiveTogether, IsWhatSharesATick) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Need> needs(random() % 40);
    for (Need& n : needs) {
      std::int64_t tick = random() % 60;
      for (unsigned r = random() % 4; r > 0; --r) {
        n.live.push_back({tick, tick + static_cast<std::int64_t>(random() % 20)});
        tick = n.live.back().last + 1 + random() % 5;
      }
    }
    LiveTogether together(needs);
    for (std::size_t i = 0; i < needs.size(); ++i) {
      std::vector<std::size_t> wanted, found = together.with(i);
      for (std::size_t j = 0; j < i; ++j) {
        if (share_a_tick(needs[i], needs[j])) wanted.push_back(j);
      }
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found, wanted);
      together.add(i);
    }
  }
}

}  // namespace
}  // namespace tessera::plan
