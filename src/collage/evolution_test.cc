// SPDX-License-Identifier: Apache-2.0
#include "collage/evolution.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

namespace tessera::collage {
namespace {

// Pairs of nodes may go to back end 0 or 1; neighbours of one back end share a border for nothing,
// which no sum over pairs shows.
constexpr int kNodes = 16;

std::vector<Move> moves_of_pairs() {
  std::vector<Move> moves;
  for (std::uint32_t node = 0; node < kNodes; node += 2) {
    for (const std::int16_t who : {std::int16_t{0}, std::int16_t{1}, kNobody}) {
      moves.push_back({{node, node + 1}, who, 1});
    }
  }
  return moves;
}

double seconds_of(const NodePlacement& p) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    sum += p[i] == kNobody ? 3 : p[i] == 0 ? 1.0 : 1.1;
    if (i > 0 && p[i] != p[i - 1]) sum += 2;
  }
  // The last pair is only fast with back end 1.
  return sum + (p.back() == 1 ? 0 : 9);
}

double best_after(int questions, std::uint64_t seed, std::vector<NodePlacement>* asked = nullptr) {
  Evolution evolution(moves_of_pairs(), seed);
  const NodePlacement nobody(kNodes, kNobody);
  evolution.tell(nobody, seconds_of(nobody));
  double best = seconds_of(nobody);
  for (int i = 0; i < questions; ++i) {
    const auto placement = evolution.ask();
    if (!placement) break;
    if (asked != nullptr) asked->push_back(*placement);
    evolution.tell(*placement, seconds_of(*placement));
    best = std::min(best, seconds_of(*placement));
  }
  return best;
}

TEST(Evolution, FindsWhatSumsDoNotShow) {
  const double all_of_one = kNodes * 1.1;
  for (const std::uint64_t seed : {1, 2, 3}) EXPECT_LE(best_after(400, seed), all_of_one + 1.5);
}

TEST(Evolution, AsksForNothingTwiceAndTheSameEachTime) {
  std::vector<NodePlacement> asked, again;
  best_after(100, 7, &asked);
  best_after(100, 7, &again);
  EXPECT_EQ(asked, again);
  EXPECT_EQ(std::set<NodePlacement>(asked.begin(), asked.end()).size(), asked.size());
}

TEST(Evolution, EndsWhenAllIsKnown) {
  Evolution evolution({{{0}, 0, 1}}, 1);
  EXPECT_FALSE(evolution.ask());
  evolution.tell({kNobody}, 2);
  const auto only = evolution.ask();
  ASSERT_TRUE(only);
  EXPECT_EQ(*only, NodePlacement{0});
  evolution.tell(*only, 1);
  EXPECT_FALSE(evolution.ask());
}

// What failed is not asked for again, and is nobody's parent.
TEST(Evolution, WhatFailedLeavesNoChildren) {
  Evolution evolution(moves_of_pairs(), 1);
  evolution.tell(NodePlacement(kNodes, 0), std::numeric_limits<double>::infinity());
  EXPECT_FALSE(evolution.ask());
}

}  // namespace
}  // namespace tessera::collage
