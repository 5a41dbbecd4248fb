// SPDX-License-Identifier: Apache-2.0
#include "plan/occupancy.h"

#include <algorithm>
#include <chrono>
#include <random>

#include <gtest/gtest.h>

#include "support/testing/near_linear.h"

namespace tessera::plan {
namespace {

struct Placed {
  Need need;
  std::int64_t offset;
};

bool share_a_tick(const Need& a, const Need& b) {
  for (const TickRange& x : a.live) {
    for (const TickRange& y : b.live) {
      if (x.first <= y.last && y.first <= x.last) return true;
    }
  }
  return false;
}

// Asks everything that was placed, offset by offset.
std::int64_t slow_gap(const std::vector<Placed>& placed, const Need& need) {
  for (std::int64_t offset = 0;; offset += need.align_bytes) {
    const bool fits = std::none_of(placed.begin(), placed.end(), [&](const Placed& p) {
      return share_a_tick(p.need, need) && p.offset < offset + need.bytes &&
             offset < p.offset + p.need.bytes;
    });
    if (fits) return offset;
  }
}

std::vector<Need> random_needs(std::mt19937& random) {
  std::vector<Need> needs(random() % 40);
  for (Need& n : needs) {
    n.bytes = random() % 50;
    n.align_bytes = std::int64_t{4} << random() % 3;
    std::int64_t tick = random() % 60;
    for (unsigned r = random() % 4; r > 0; --r) {
      n.live.push_back({tick, tick + static_cast<std::int64_t>(random() % 20)});
      tick = n.live.back().last + 1 + random() % 5;
    }
  }
  return needs;
}

TEST(Occupancy, TheFirstGapMissesWhatSharesATick) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const std::vector<Need> needs = random_needs(random);
    Occupancy taken(needs);
    std::vector<Placed> placed;
    for (const Need& need : needs) {
      const std::int64_t offset = taken.first_gap(need);
      ASSERT_EQ(offset, slow_gap(placed, need));
      taken.add(need, offset);
      placed.push_back({need, offset});
    }
  }
}

// As the values that a loop carries are. Asking each about all others would take minutes.
TEST(Occupancy, ManyThatLiveTogetherTakeNearLinearTime) {
  const std::int64_t count = tessera::testing::kLargeGraphNodes;
  std::vector<Need> needs;
  for (std::int64_t i = 0; i < count; ++i) {
    needs.push_back({std::to_string(i), 8, 64, {{i, count}}});
  }
  std::vector<Pool> pools = {{}};
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(place_greedy_by_size(needs, pools));
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
            tessera::testing::kLargeGraphSeconds);
  EXPECT_EQ(pools[0].bytes, (count - 1) * 64 + 8);
}

}  // namespace
}  // namespace tessera::plan
