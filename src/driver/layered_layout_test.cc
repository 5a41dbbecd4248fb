// SPDX-License-Identifier: Apache-2.0
#include "driver/layered_layout.h"

#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

namespace tessera::driver {
namespace {

constexpr LayoutSizes kSizes = {.node_width = 40,
                                .node_height = 10,
                                .bend_width = 4,
                                .between_neighbours = 6,
                                .between_layers = 20};
constexpr int kLayer = 30;  // from one to the next

LayeredLayout layout(std::size_t num_nodes, const std::vector<LayoutEdge>& edges) {
  const auto made = layered_layout(num_nodes, edges, kSizes);
  EXPECT_TRUE(made);
  return made.value_or(LayeredLayout{});
}

TEST(LayeredLayout, OfNothingIsEmpty) {
  const LayeredLayout l = layout(0, {});
  EXPECT_TRUE(l.nodes.empty());
  EXPECT_EQ(l.height, 0);
}

TEST(LayeredLayout, AChainIsAColumn) {
  const LayeredLayout l = layout(3, {{0, 1}, {1, 2}});
  EXPECT_EQ(l.nodes, (std::vector<Point>{{0, 0}, {0, kLayer}, {0, 2 * kLayer}}));
  EXPECT_EQ(l.edges[0], (std::vector<Point>{{20, 10}, {20, kLayer}}));
  EXPECT_EQ(l.width, 40);
  EXPECT_EQ(l.height, 2 * kLayer + 10);
}

TEST(LayeredLayout, ADiamondIsSymmetric) {
  const LayeredLayout l = layout(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  EXPECT_EQ(l.nodes, (std::vector<Point>{{23, 0}, {0, kLayer}, {46, kLayer}, {23, 2 * kLayer}}));
  EXPECT_EQ(l.width, 86);
}

// A shortcut goes past the node that it leaves out, in a place of its own.
TEST(LayeredLayout, AnEdgeThatPassesALayerHasAPlaceThere) {
  const LayeredLayout l = layout(3, {{0, 1}, {0, 2}, {1, 2}});
  ASSERT_EQ(l.edges[1].size(), 4u);
  const Point enters = l.edges[1][1], leaves = l.edges[1][2];
  EXPECT_EQ(enters.y, kLayer);
  EXPECT_EQ(leaves, (Point{enters.x, kLayer + kSizes.node_height}));
  EXPECT_GE(enters.x - kSizes.bend_width / 2, l.nodes[1].x + kSizes.node_width);
}

// Two chains, whose second nodes come in the other order, do not cross.
TEST(LayeredLayout, NodesStandBelowTheirPredecessors) {
  const LayeredLayout l = layout(6, {{0, 3}, {1, 2}, {2, 4}, {3, 5}});
  EXPECT_LT(l.nodes[0].x, l.nodes[1].x);
  EXPECT_EQ(l.nodes[3].x, l.nodes[0].x);
  EXPECT_EQ(l.nodes[2].x, l.nodes[1].x);
  EXPECT_EQ(l.nodes[5].x, l.nodes[3].x);
  EXPECT_EQ(l.nodes[4].x, l.nodes[2].x);
}

TEST(LayeredLayout, ANodeWithoutPredecessorsStandsAboveItsReader) {
  const LayeredLayout l = layout(4, {{0, 1}, {1, 3}, {2, 3}});
  EXPECT_EQ(l.nodes[2].y, l.nodes[1].y);
}

// Residual blocks below each other, all read by an edge on the right: the chain goes on below where
// it began.
TEST(LayeredLayout, LongGraphsDoNotDrift) {
  std::vector<LayoutEdge> edges = {{0, 1}};
  for (std::size_t i = 1; i < 200; i += 2) {
    edges.push_back({0, i + 2});
    edges.push_back({i, i + 1});
    edges.push_back({i, i + 2});
    edges.push_back({i + 1, i + 2});
  }
  EXPECT_LT(layout(202, edges).width, 5 * kSizes.node_width);
}

// A branch that splits again: no two nodes of a layer overlap.
TEST(LayeredLayout, NeighboursKeepTheirDistance) {
  std::vector<LayoutEdge> tree;
  for (std::size_t i = 1; i < 63; ++i) tree.push_back({(i - 1) / 2, i});
  const LayeredLayout l = layout(63, tree);
  for (std::size_t a = 0; a < 63; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (l.nodes[a].y != l.nodes[b].y) continue;
      EXPECT_GE(std::abs(l.nodes[a].x - l.nodes[b].x),
                kSizes.node_width + kSizes.between_neighbours - 1);
    }
  }
  const LayeredLayout again = layout(63, tree);
  EXPECT_EQ(again.nodes, l.nodes);
  EXPECT_EQ(again.edges, l.edges);
}

TEST(LayeredLayout, ThereIsAMostOfBends) {
  std::vector<LayoutEdge> all;
  for (std::size_t to = 1; to < 100; ++to) {
    for (std::size_t from = 0; from < to; ++from) all.push_back({from, to});
  }
  EXPECT_FALSE(layered_layout(100, all, kSizes));  // 161,700
}

}  // namespace
}  // namespace tessera::driver
