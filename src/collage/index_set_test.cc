// SPDX-License-Identifier: Apache-2.0
#include "collage/index_set.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "support/check.h"

namespace tessera::collage {
namespace {

IndexSet set_of(std::vector<Index> members) { return IndexSet(12, std::move(members)); }

TEST(IndexSets, TextJoinsThreeOrMoreInARow) {
  EXPECT_EQ(to_string(set_of({})), "{}");
  EXPECT_EQ(to_string(set_of({0, 2, 3, 4, 5})), "{0,2..5}");
  EXPECT_EQ(to_string(set_of({0, 1})), "{0,1}");
  EXPECT_EQ(to_string(set_of({3, 1, 2, 9, 8})), "{1..3,8,9}");
}

TEST(IndexSets, AreOrderedByTheFirstIndexWhereTheyDiffer) {
  EXPECT_TRUE(set_of({0}) < set_of({1}));
  EXPECT_TRUE(set_of({0, 1}) < set_of({0}));
  EXPECT_TRUE(set_of({0, 1}) < set_of({0, 2}));
  EXPECT_TRUE(set_of({7}) < set_of({}));
  EXPECT_FALSE(set_of({0, 1}) < set_of({0, 1}));
  EXPECT_FALSE(set_of({0}) < set_of({0, 1}));
}

TEST(IndexSets, Operations) {
  const IndexSet a = set_of({1, 3, 5}), b = set_of({3, 4});
  EXPECT_EQ(a | b, set_of({1, 3, 4, 5}));
  EXPECT_EQ(a & b, set_of({3}));
  EXPECT_EQ(a - b, set_of({1, 5}));
  EXPECT_TRUE(a.intersects(b));
  EXPECT_TRUE(a.is_disjoint_from(set_of({0, 4})));
  EXPECT_TRUE(set_of({3, 5}).is_subset_of(a));
  EXPECT_TRUE(a.is_subset_of(a));
  EXPECT_FALSE(b.is_subset_of(a));
  EXPECT_EQ(a.count(), 3u);
  EXPECT_EQ(a.hash(), set_of({5, 3, 1}).hash());
  IndexSet c = a;
  c.add(4);
  c.add(4);
  EXPECT_EQ(c, set_of({1, 3, 4, 5}));
}

// Few members are looked up among many: the results are those of the definitions.
TEST(IndexSets, OperationsOfFewAndMany) {
  constexpr std::size_t kSize = 400;
  std::vector<Index> even;
  for (Index i = 0; i < kSize; i += 2) even.push_back(i);
  const IndexSet many(kSize, even);
  for (const std::vector<Index>& members :
       {std::vector<Index>{}, {0}, {398}, {1}, {399}, {0, 398}, {1, 399}, {2, 3}, {5, 200, 398}}) {
    const IndexSet few(kSize, members);
    std::vector<Index> both, rest, left;
    for (const Index i : members) (i % 2 == 0 ? both : rest).push_back(i);
    for (const Index i : even) {
      if (!few.contains(i)) left.push_back(i);
    }
    SCOPED_TRACE(to_string(few));
    EXPECT_EQ(few & many, IndexSet(kSize, both));
    EXPECT_EQ(many & few, IndexSet(kSize, both));
    EXPECT_EQ(few - many, IndexSet(kSize, rest));
    EXPECT_EQ(many - few, IndexSet(kSize, left));
    EXPECT_EQ(few.is_subset_of(many), rest.empty());
    EXPECT_FALSE(many.is_subset_of(few));
    EXPECT_EQ(few.is_disjoint_from(many), both.empty());
    EXPECT_EQ(many.is_disjoint_from(few), both.empty());
  }
}

TEST(IndexSets, FirstAndLastAreTheSizeWhereThereIsNone) {
  EXPECT_EQ(set_of({}).first_inside(), 12u);
  EXPECT_EQ(set_of({}).last_inside(), 12u);
  EXPECT_EQ(set_of({}).first_outside(), 0u);
  EXPECT_EQ(set_of({0, 1, 3}).first_outside(), 2u);
  EXPECT_EQ(set_of({2, 8}).first_inside(), 2u);
  EXPECT_EQ(set_of({2, 8}).last_inside(), 8u);
  EXPECT_EQ(IndexSet(2, {0, 1}).first_outside(), 2u);
}

TEST(IndexSets, ListsWithRepetitionsOrBeyondTheSizeAreNoSets) {
  EXPECT_FALSE(IndexSet::try_make(12, {1, 1}));
  EXPECT_FALSE(IndexSet::try_make(12, {12}));
  EXPECT_TRUE(IndexSet::try_make(12, {11}));
  EXPECT_THROW(set_of({4, 4}), InternalError);
}

TEST(IndexSets, Substitution) {
  const std::vector<Index> by = {9, 0, 4, 2};
  EXPECT_EQ(IndexSet(4, {0, 1, 3}).substitute(by, 10), IndexSet(10, {0, 2, 9}));
}

}  // namespace
}  // namespace tessera::collage
