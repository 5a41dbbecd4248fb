// SPDX-License-Identifier: Apache-2.0
#include "runtime/occupancy.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tessera::runtime {
namespace {

struct Piece {
  std::int64_t bytes = 0, align_bytes = 0, offset = 0;
  std::vector<TickRange> live;

  Wanted wanted() const { return {live.data(), live.size(), bytes, align_bytes}; }
};

bool share_a_tick(const Piece& a, const Piece& b) {
  for (const TickRange& x : a.live) {
    for (const TickRange& y : b.live) {
      if (x.first <= y.last && y.first <= x.last) return true;
    }
  }
  return false;
}

// Asks everything that was placed, offset by offset.
std::int64_t slow_gap(const std::vector<Piece>& placed, const Piece& piece) {
  for (std::int64_t offset = 0;; offset += piece.align_bytes) {
    const bool fits = std::none_of(placed.begin(), placed.end(), [&](const Piece& p) {
      return share_a_tick(p, piece) && p.offset < offset + piece.bytes &&
             offset < p.offset + p.bytes;
    });
    if (fits) return offset;
  }
}

std::vector<Piece> random_pieces(std::mt19937& random) {
  std::vector<Piece> pieces(random() % 40);
  for (Piece& p : pieces) {
    p.bytes = random() % 50;
    p.align_bytes = std::int64_t{4} << random() % 3;
    std::int64_t tick = random() % 60;
    for (unsigned r = random() % 4; r > 0; --r) {
      p.live.push_back({tick, tick + static_cast<std::int64_t>(random() % 20)});
      tick = p.live.back().last + 1 + random() % 5;
    }
  }
  return pieces;
}

TEST(Occupancy, TheFirstGapMissesWhatSharesATick) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const std::vector<Piece> pieces = random_pieces(random);
    std::vector<std::int64_t> ticks;
    for (const Piece& p : pieces) {
      for (const TickRange& range : p.live) {
        ticks.insert(ticks.end(), {range.first, range.last});
      }
    }
    Occupancy taken;
    ASSERT_TRUE(taken.create(ticks.data(), ticks.size(), 4));
    std::vector<Piece> placed;
    for (Piece piece : pieces) {
      piece.offset = taken.first_gap(piece.wanted());
      ASSERT_EQ(piece.offset, slow_gap(placed, piece));
      ASSERT_TRUE(taken.add(piece.wanted(), piece.offset));
      placed.push_back(piece);
    }
  }
}

TEST(Occupancy, NeighboursAreOneSpan) {
  ByteSpans spans = {};
  for (const auto& [begin, end] : {std::pair{20, 30}, {0, 10}, {40, 50}, {10, 20}, {45, 60}}) {
    ASSERT_TRUE(spans.add(begin, end));
  }
  ASSERT_EQ(spans.size, 2u);
  EXPECT_EQ(spans.at[0].end, 30);
  EXPECT_EQ(spans.at[1].begin, 40);
  EXPECT_EQ(spans.first_gap(30, 10, 1), 30);
  EXPECT_EQ(spans.first_gap(29, 5, 1), 30);
  EXPECT_EQ(spans.first_gap(30, 11, 1), 60);
  EXPECT_EQ(spans.first_gap(0, 8, 8), 32);
  EXPECT_EQ(spans.first_gap(0, 9, 8), 64);
  ASSERT_TRUE(spans.add(-5, 100));
  EXPECT_EQ(spans.size, 1u);
  std::free(spans.at);
}

}  // namespace
}  // namespace tessera::runtime
