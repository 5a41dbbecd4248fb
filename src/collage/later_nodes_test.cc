// SPDX-License-Identifier: Apache-2.0
#include "collage/later_nodes.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "collage/covered.h"

namespace tessera::collage {
namespace {

std::vector<Index> members_of(const LaterNodes& set) {
  std::vector<Index> out;
  for (LaterNodes::Cursor at(set); !at.is_at_end(); ++at) out.push_back(*at);
  return out;
}

LaterNodes later_nodes(const std::vector<Index>& members) { return LaterNodes().from(0, members); }

// However a set came about, it is the same one.
TEST(LaterNodes, AreWhatWasAddedFromWhereTheyBegin) {
  constexpr Index kNodes = 600;
  std::mt19937 random(7);
  const auto below = [&](Index n) { return static_cast<Index>(random() % n); };
  for (int time = 0; time < 50; ++time) {
    std::set<Index> wanted;
    LaterNodes found;
    for (Index first = 0; first < kNodes; first += 1 + below(40)) {
      std::set<Index> more;
      // Few, or more than a set keeps of its own.
      for (Index n = below(2) == 0 ? below(3) : below(200); n > 0; --n) {
        const Index index = first + below(kNodes - first);
        if (!wanted.contains(index)) more.insert(index);
      }
      found = found.from(first, std::vector(more.begin(), more.end()));
      wanted.erase(wanted.begin(), wanted.lower_bound(first));
      wanted.insert(more.begin(), more.end());
      const std::vector<Index> all(wanted.begin(), wanted.end());
      ASSERT_EQ(members_of(found), all);
      ASSERT_EQ(found.size(), all.size());
      ASSERT_EQ(found.empty(), all.empty());
      const LaterNodes at_once = later_nodes(all);
      ASSERT_TRUE(found == at_once);
      ASSERT_EQ(found.hash(), at_once.hash());
      ASSERT_FALSE(comes_before(found, at_once) || comes_before(at_once, found));
      for (Index index = 0; index < kNodes; ++index) {
        ASSERT_EQ(found.contains(index), wanted.contains(index));
      }
    }
  }
}

TEST(LaterNodes, AreOrderedAsSetsOfIndices) {
  constexpr Index kNodes = 200;
  std::vector<Index> many;
  for (Index i = 50; i < kNodes; ++i) many.push_back(i);
  const std::vector<std::vector<Index>> sets = {{},       {1},  {1, 2}, {2},
                                                {1, 199}, many, {50},   {50, 60}};
  for (const auto& a : sets) {
    for (const auto& b : sets) {
      EXPECT_EQ(later_nodes(a) == later_nodes(b), a == b);
      EXPECT_EQ(comes_before(later_nodes(a), later_nodes(b)),
                IndexSet(kNodes, a) < IndexSet(kNodes, b));
    }
  }
}

TEST(Covered, EndsAtTheFirstNodeThatIsNot) {
  constexpr std::size_t kNodes = 20;
  const Covered none, holes = with(none, IndexSet(kNodes, {0, 1, 3, 4, 7}));
  EXPECT_EQ(holes.next, 2u);
  EXPECT_EQ(members_of(holes.beyond), (std::vector<Index>{3, 4, 7}));
  EXPECT_TRUE(meets(holes, IndexSet(kNodes, {2, 4})));
  EXPECT_FALSE(meets(holes, IndexSet(kNodes, {2, 5, 6, 8})));
  const Covered more = with(holes, IndexSet(kNodes, {2, 6}));
  EXPECT_EQ(more.next, 5u);
  EXPECT_EQ(members_of(more.beyond), (std::vector<Index>{6, 7}));
  EXPECT_EQ(with(more, IndexSet(kNodes, {5})), (Covered{8, {}}));
}

}  // namespace
}  // namespace tessera::collage
