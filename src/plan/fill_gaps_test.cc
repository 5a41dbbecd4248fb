// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "plan/algorithm.h"
#include "plan/testing/sound_plan.h"
#include "support/testing/near_linear.h"

namespace tessera::plan {
namespace {

using testing::expect_sound;
using testing::need;
using testing::offsets;

Result<std::vector<Placement>> place(const std::vector<Need>& needs, std::vector<Pool>& pools) {
  auto placed = (*find_algorithm("fill_gaps"))->place({needs, pools});
  if (placed) set_used_bytes(needs, *placed, pools);
  return placed;
}

TEST(FillGaps, ThreeThatLiveTogether) {
  const std::vector<Need> needs = {need("bi_a", 10, {{0, 2}}), need("bi_b", 10, {{1, 3}}),
                                   need("bi_c", 10, {{2, 4}})};
  std::vector<Pool> pools = {{}};
  const auto placed = place(needs, pools);
  ASSERT_TRUE(placed);
  EXPECT_EQ(offsets(*placed), (std::vector<std::int64_t>{0, 10, 20}));
  EXPECT_EQ(pools[0].bytes, 30);
}

TEST(FillGaps, GapsAreFilled) {
  // b lies after a; once a is gone, c fits before b.
  const std::vector<Need> needs = {need("a", 60, {{0, 1}}), need("b", 50, {{1, 3}}),
                                   need("c", 40, {{3, 4}})};
  std::vector<Pool> pools = {{}};
  const auto placed = place(needs, pools);
  ASSERT_TRUE(placed);
  EXPECT_EQ(offsets(*placed), (std::vector<std::int64_t>{0, 60, 0}));
  EXPECT_EQ(pools[0].bytes, 110);
}

TEST(FillGaps, AlignmentMovesOffsetsUp) {
  std::vector<Need> needs = {need("a", 10, {{0, 1}}), need("b", 9, {{0, 1}})};
  needs[1].align_bytes = 64;
  std::vector<Pool> pools = {{}};
  const auto placed = place(needs, pools);
  ASSERT_TRUE(placed);
  EXPECT_EQ(offsets(*placed), (std::vector<std::int64_t>{0, 64}));
  EXPECT_EQ(pools[0].bytes, 73);
}

TEST(FillGaps, ASmallPoolFillsUpBeforeTheNext) {
  const std::vector<Need> needs = {need("a", 80, {{0, 2}}), need("b", 30, {{0, 2}}),
                                   need("c", 20, {{0, 2}}), need("d", 30, {{3, 3}})};
  std::vector<Pool> pools = {{"fast", 100}, {"slow", -1}};
  const auto placed = place(needs, pools);
  ASSERT_TRUE(placed);
  expect_sound(needs, *placed, pools);
  std::vector<std::int32_t> in;
  for (const Placement& p : *placed) in.push_back(p.pool);
  EXPECT_EQ(in, (std::vector<std::int32_t>{0, 1, 0, 0}));
  EXPECT_EQ(pools[0].bytes, 100);
  EXPECT_EQ(pools[1].bytes, 30);
}

TEST(FillGaps, ThousandsThatLiveTogether) {
  std::vector<Need> needs;
  for (int i = 0; i < 6000; ++i) {
    needs.push_back(need("n" + std::to_string(i), 1 + i % 7, {{i, 6000}}));
    needs.back().align_bytes = 4;
  }
  std::vector<Pool> pools = {{"small", 100}, {"rest", -1}};
  const auto placed = place(needs, pools);
  ASSERT_TRUE(placed);
  expect_sound(needs, *placed, pools);
  EXPECT_LE(pools[0].bytes, 100);
}

// As the values that a loop carries are. Asking each about all others would take minutes.
TEST(FillGaps, ManyThatLiveTogetherTakeNearLinearTime) {
  const std::int64_t count = tessera::testing::kLargeGraphNodes;
  std::vector<Need> needs;
  for (std::int64_t i = 0; i < count; ++i) {
    needs.push_back({std::to_string(i), 8, 64, {{i, count}}});
  }
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Pool> pools = {{}};
  const auto placed = place(needs, pools);
  ASSERT_TRUE(placed);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
            tessera::testing::kLargeGraphSeconds);
  EXPECT_EQ(pools[0].bytes, (count - 1) * 64 + 8);
}

}  // namespace
}  // namespace tessera::plan
