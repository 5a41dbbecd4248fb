// SPDX-License-Identifier: Apache-2.0
// Where the nodes of a graph lie in a picture, after Sugiyama: in layers from the top to the
// bottom, each below all of its predecessors; an edge that passes a layer has a place in it, too.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tessera::driver {

struct LayoutEdge {
  std::size_t from = 0, to = 0;  // from < to
};

struct LayoutSizes {
  int node_width = 1, node_height = 1;
  int bend_width = 1;          // of an edge where it passes a layer
  int between_neighbours = 1;  // in a layer
  int between_layers = 1;
};

struct Point {
  int x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

struct LayeredLayout {
  std::vector<Point> nodes;               // the upper left corner of each
  std::vector<std::vector<Point>> edges;  // from the lower side of one node to the upper of another
  int width = 0, height = 0;
};

// A layout with more points than this is no picture that anybody reads.
inline constexpr std::size_t kMostBends = 100'000;

// A layer is as far down as the longest path to it is long; a node without predecessors stands
// right above the first of its successors. In a layer nodes stand in the order of the means of
// their predecessors' places, and as near to these as the room allows, those where edges join a bit
// nearer to the middle. Equal graphs give equal layouts. None where the edges would pass more than
// kMostBends layers together.
std::optional<LayeredLayout> layered_layout(std::size_t num_nodes,
                                            std::span<const LayoutEdge> edges,
                                            const LayoutSizes& sizes);

}  // namespace tessera::driver
