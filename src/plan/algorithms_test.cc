// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <random>

#include "plan/algorithm.h"
#include "plan/testing/sound_plan.h"
#include "support/testing/near_linear.h"

namespace tessera::plan {
namespace {

using testing::expect_sound;
using testing::need;
using testing::offsets;

struct Outcome {
  std::vector<Placement> placements;
  std::vector<Pool> pools;

  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const Pool& pool : pools) sum += pool.bytes;
    return sum;
  }
};

Outcome run(std::string_view algorithm, const Problem& problem) {
  Outcome out = {{}, problem.pools};
  const auto placed = (*find_algorithm(algorithm))->place(problem);
  EXPECT_TRUE(placed) << algorithm << ": " << (placed ? "" : placed.error().list[0].message);
  if (!placed) return out;
  out.placements = *placed;
  set_used_bytes(problem.needs, out.placements, out.pools);
  return out;
}

// Needs a, b, c, ... of these sizes, and whom each asks about.
Problem conflicting(const std::vector<std::int64_t>& sizes, const std::vector<std::string>& with) {
  Problem problem;
  problem.pools = {{}};
  problem.conflicts.emplace();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    problem.needs.push_back(need(std::string(1, static_cast<char>('a' + i)), sizes[i], {}));
    auto& list = problem.conflicts->emplace_back();
    for (const char name : with[i]) list.push_back(static_cast<std::uint32_t>(name - 'a'));
  }
  return problem;
}

constexpr std::string_view kOfTheSpecification[] = {"greedy_by_size", "greedy_by_conflicts",
                                                    "hill_climb"};

TEST(Algorithms, ThreeThatConflictLieByNameFromBehind) {
  Problem problem = conflicting({10, 10, 10}, {"bc", "ac", "ab"});
  for (std::size_t i = 0; i < 3; ++i) problem.needs[i].name = "bi_" + problem.needs[i].name;
  for (const std::string_view name : kOfTheSpecification) {
    EXPECT_EQ(offsets(run(name, problem).placements), (std::vector<std::int64_t>{20, 10, 0}))
        << name;
  }
}

TEST(Algorithms, ChainOfSix) {
  const Problem problem =
      conflicting({10, 20, 100, 40, 50, 50}, {"b", "ac", "bd", "ce", "df", "e"});
  for (const Algorithm* a : algorithms()) EXPECT_EQ(run(a->name, problem).bytes(), 140) << a->name;
}

// The lists are not symmetric, and e has itself on its own.
TEST(Algorithms, FanOutOfSeven) {
  const Problem problem = conflicting({10, 20, 100, 40, 50, 60, 70},
                                      {"bc", "ace", "eabd", "bfce", "cfbde", "def", "f"});
  EXPECT_EQ(run("greedy_by_size", problem).bytes(), 190);
  EXPECT_EQ(run("greedy_by_conflicts", problem).bytes(), 320);
  EXPECT_EQ(run("hill_climb", problem).bytes(), 190);
  // Taken both ways b, c, d, e live together: 210 bytes.
  EXPECT_EQ(run("least_peak", problem).bytes(), 210);
}

TEST(Algorithms, APoolThatIsTooSmallIsAnErrorThatSaysWhatIsLeft) {
  Problem problem = conflicting({10, 10, 10}, {"bc", "ac", "ab"});
  problem.pools = {{"small", 10}};
  for (const Algorithm* a : algorithms()) {
    const auto placed = a->place(problem);
    ASSERT_FALSE(placed) << a->name;
    const Diagnostic& d = placed.error().list.front();
    EXPECT_EQ(d.code, Code::kNotSupported);
    EXPECT_NE(d.message.find("(10 bytes): `small` of 10 bytes has 0 left while it lives"),
              std::string::npos)
        << d.message;
    EXPECT_FALSE(d.remedy.empty());
  }
}

TEST(Algorithms, PoolsThatANeedMayNotUseAreNamed) {
  Problem problem = {{need("a", 8, {{0, 1}}), need("b", 8, {{1, 2}})},
                     {{"left", 8}, {"right", -1}}};
  problem.needs[0].pools = problem.needs[1].pools = {0};
  for (const Algorithm* a : algorithms()) {
    const auto placed = a->place(problem);
    ASSERT_FALSE(placed) << a->name;
    const std::string& text = placed.error().list.front().message;
    EXPECT_NE(text.find("`right` is not for it"), std::string::npos) << text;
  }
  problem.needs[1].pools = {1, 0};
  for (const Algorithm* a : algorithms()) {
    const Outcome out = run(a->name, problem);
    EXPECT_EQ(out.placements[0].pool, 0) << a->name;
    EXPECT_EQ(out.placements[1].pool, 1) << a->name;
  }
}

TEST(Algorithms, NoGapIsFilledByTheGreedyOnes) {
  // b lies after a; once a is gone, c would fit before b.
  const Problem problem = {
      {need("a", 60, {{0, 1}}), need("b", 50, {{1, 3}}), need("c", 40, {{3, 4}})}, {{}}};
  EXPECT_EQ(offsets(run("greedy_by_size", problem).placements),
            (std::vector<std::int64_t>{0, 60, 110}));
  for (const std::string_view name : {"hill_climb", "fill_gaps", "least_peak"}) {
    EXPECT_EQ(run(name, problem).bytes(), 110) << name;
  }
}

// A need that is aligned more than what it lies behind.
TEST(Algorithms, OffsetsAreAlignedForTheNeedItself) {
  Problem problem = {{need("a", 100, {{0, 1}}), need("b", 9, {{0, 1}})}, {{}}};
  problem.needs[1].align_bytes = 64;
  for (const Algorithm* a : algorithms()) {
    expect_sound(problem.needs, run(a->name, problem).placements, problem.pools);
  }
}

std::vector<Need> random_needs(unsigned seed, int count) {
  std::mt19937 random(seed);
  std::vector<Need> needs;
  for (int i = 0; i < count; ++i) {
    Need n = need("n" + std::to_string(i), random() % 500, {});
    n.align_bytes = std::int64_t{1} << random() % 7;
    std::int64_t tick = random() % 40;
    for (unsigned r = random() % 3 + 1; r > 0; --r) {
      const std::int64_t last = tick + random() % 10;
      n.live.push_back({tick, last});
      tick = last + 1 + random() % 5;
    }
    needs.push_back(std::move(n));
  }
  return needs;
}

TEST(Algorithms, RandomNeedsNeverOverlap) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const Problem problem = {random_needs(seed, 60), {{"small", 700}, {"rest", -1}}};
    for (const Algorithm* a : algorithms()) {
      SCOPED_TRACE(std::string(a->name) + " " + std::to_string(seed));
      const Outcome out = run(a->name, problem);
      expect_sound(problem.needs, out.placements, problem.pools);
      EXPECT_GE(out.bytes(), lower_bound(problem.needs));
      EXPECT_EQ(offsets(out.placements), offsets(run(a->name, problem).placements));
    }
  }
}

// Wherever orders of one kind fail to use a pool well enough, others are tried.
TEST(LeastPeak, FindsAPlanThatFitsWhereTheLargestFirstDoesNot) {
  const Problem problem = {{need("a", 5, {{0, 1}}), need("b", 4, {{1, 2}}), need("c", 4, {{2, 4}}),
                            need("d", 3, {{0, 0}}), need("e", 5, {{3, 4}})},
                           {{"exact", 9}}};
  const Outcome out = run("least_peak", problem);
  expect_sound(problem.needs, out.placements, problem.pools);
}

// As of a transformer of two layers: bytes, first and last statement.
TEST(LeastPeak, FewNeedsReachTheBound) {
  constexpr std::int64_t kNeeds[][3] = {
      {4096, 0, 1},   {4352, 1, 38},  {4352, 2, 3},    {4352, 3, 4},   {13056, 4, 5},
      {4352, 5, 8},   {4352, 5, 8},   {4352, 5, 8},    {4352, 6, 9},   {4352, 7, 9},
      {4352, 8, 11},  {9248, 9, 10},  {4352, 9, 9},    {9248, 10, 11}, {4352, 11, 12},
      {4352, 12, 13}, {4352, 13, 14}, {4352, 15, 16},  {8704, 16, 18}, {4352, 18, 19},
      {4352, 20, 21}, {4352, 21, 22}, {13056, 22, 23}, {4352, 23, 26}, {4352, 23, 26},
      {4352, 23, 26}, {4352, 24, 27}, {4352, 25, 27},  {4352, 26, 29}, {9248, 27, 28},
      {4352, 27, 27}, {9248, 28, 29}, {4352, 29, 30},  {4352, 30, 31}, {4352, 31, 32},
      {4352, 33, 34}, {8704, 34, 36}, {4352, 36, 37},  {4352, 38, 39}, {256, 39, 40}};
  std::vector<Need> needs;
  for (const auto& [bytes, first, last] : kNeeds) {
    needs.push_back({std::to_string(needs.size()), bytes, 64, {{first, last}}});
  }
  const Outcome out = run("least_peak", {needs, {{}}});
  expect_sound(needs, out.placements, {{}});
  EXPECT_LT(out.bytes(), lower_bound(needs) + 64);
}

TEST(LowerBound, CountsWhatAlignmentAdds) {
  std::vector<Need> needs = {need("a", 10, {{0, 1}}), need("b", 9, {{1, 1}})};
  EXPECT_EQ(pressure(needs), 19);
  EXPECT_EQ(lower_bound(needs), 19);
  for (Need& n : needs) n.align_bytes = 64;
  EXPECT_EQ(lower_bound(needs), 64 + 9);
  EXPECT_EQ(lower_bound({}), 0);
}

// As of a program with 90,000 statements, each of which reads results of some before it.
TEST(LeastPeak, ManyNeedsTakeSeconds) {
  std::mt19937 random(3);
  std::vector<Need> needs;
  for (std::int64_t i = 0; i < 90'000; ++i) {
    const std::int64_t bytes = 4 << random() % 16;
    needs.push_back(
        {std::to_string(i), bytes, 64, {{i, i + 1 + static_cast<std::int64_t>(random() % 40)}}});
  }
  const auto begin = std::chrono::steady_clock::now();
  const Outcome out = run("least_peak", {needs, {{}}});
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin);
  EXPECT_LT(seconds.count(), tessera::testing::kLargeGraphSeconds);
  EXPECT_LE(static_cast<double>(out.bytes()), 1.01 * static_cast<double>(lower_bound(needs)));
}

}  // namespace
}  // namespace tessera::plan
