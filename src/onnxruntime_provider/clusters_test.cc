// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime_provider/clusters.h"

#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace tessera::onnxruntime_provider {
namespace {

using Groups = std::vector<std::vector<std::size_t>>;

TEST(Clusters, AGraphThatIsWantedIsOneGroup) {
  const std::vector<NodeValues> nodes = {{{"x"}, {"a"}}, {{"y"}, {"b"}}, {{"a", "", "b"}, {"c"}}};
  EXPECT_EQ(clusters(nodes, {true, true, true}), Groups({{0, 1, 2}}));
  EXPECT_EQ(clusters(nodes, {false, false, false}), Groups());
  EXPECT_EQ(clusters({}, {}), Groups());
}

TEST(Clusters, WhatGoesOutAndComesBackIsAnotherGroup) {
  // 0 reaches 2 by 1, which is not wanted, and also at once.
  const std::vector<NodeValues> nodes = {
      {{"x"}, {"a"}}, {{"a"}, {"b"}}, {{"a", "b"}, {"c"}}, {{"a"}, {"d"}}, {{"x"}, {"e"}}};
  EXPECT_EQ(clusters(nodes, {true, false, true, true, true}), Groups({{0, 3, 4}, {2}}));
}

// Of each node, those that a way leads to it from.
std::vector<std::set<std::size_t>> ancestors(const std::vector<NodeValues>& nodes) {
  std::vector<std::set<std::size_t>> all(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      for (const std::string& input : nodes[i].inputs) {
        if (input != nodes[j].outputs[0]) continue;
        all[i].insert(j);
        all[i].insert(all[j].begin(), all[j].end());
      }
    }
  }
  return all;
}

TEST(Clusters, NoWayLeavesAGroupAndComesBack) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<NodeValues> nodes;
    std::vector<bool> is_wanted;
    for (std::size_t i = 0; i < 12; ++i) {
      nodes.push_back(
          {{"v" + std::to_string(random() % (i + 1)), "v" + std::to_string(random() % (i + 1))},
           {"v" + std::to_string(i + 1)}});
      is_wanted.push_back(random() % 3 != 0);
    }
    const auto before = ancestors(nodes);
    std::set<std::size_t> seen;
    for (const std::vector<std::size_t>& group : clusters(nodes, is_wanted)) {
      const std::set<std::size_t> members(group.begin(), group.end());
      for (const std::size_t i : group) {
        EXPECT_TRUE(is_wanted[i]);
        EXPECT_TRUE(seen.insert(i).second);
        for (const std::size_t between : before[i]) {
          if (members.count(between) != 0) continue;
          for (const std::size_t j : before[between]) EXPECT_EQ(members.count(j), 0U);
        }
      }
    }
    EXPECT_EQ(static_cast<std::ptrdiff_t>(seen.size()),
              std::count(is_wanted.begin(), is_wanted.end(), true));
  }
}

}  // namespace
}  // namespace tessera::onnxruntime_provider
