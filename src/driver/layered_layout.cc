// SPDX-License-Identifier: Apache-2.0
#include "driver/layered_layout.h"

#include <algorithm>
#include <cmath>

namespace tessera::driver {
namespace {

// Of where edges join: long graphs with edges on one side would drift to that side.
constexpr double kTowardsMiddle = 0.75;

std::vector<std::size_t> layers_of(std::size_t num_nodes, std::span<const LayoutEdge> edges) {
  std::vector<std::vector<std::size_t>> successors(num_nodes);
  std::vector<bool> has_predecessor(num_nodes, false);
  for (const LayoutEdge& e : edges) {
    successors[e.from].push_back(e.to);
    has_predecessor[e.to] = true;
  }
  std::vector<std::size_t> layers(num_nodes, 0);
  for (std::size_t i = 0; i < num_nodes; ++i) {
    for (const std::size_t to : successors[i]) layers[to] = std::max(layers[to], layers[i] + 1);
  }
  for (std::size_t i = 0; i < num_nodes; ++i) {
    if (has_predecessor[i] || successors[i].empty()) continue;
    std::size_t first = layers[successors[i].front()];
    for (const std::size_t to : successors[i]) first = std::min(first, layers[to]);
    layers[i] = first - 1;
  }
  return layers;
}

// The ascending places with the least sum of squares of their distances from those that are wanted
// (pool adjacent violators).
std::vector<double> ascending(const std::vector<double>& wanted) {
  struct Block {
    double sum = 0;
    std::size_t count = 0;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Block> blocks;
  for (const double place : wanted) {
    blocks.push_back({place, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().count += last.count;
    }
  }
  std::vector<double> places;
  for (const Block& b : blocks) places.insert(places.end(), b.count, b.mean());
  return places;
}

class Layering {
 public:
  Layering(std::size_t num_nodes, std::span<const LayoutEdge> edges, const LayoutSizes& sizes)
      : num_nodes_(num_nodes), edges_(edges), sizes_(sizes), layers_(layers_of(num_nodes, edges)) {}

  bool has_room() const {
    std::size_t bends = 0;
    for (const LayoutEdge& e : edges_) bends += layers_[e.to] - layers_[e.from] - 1;
    return bends <= kMostBends;
  }

  LayeredLayout layout() {
    add_vertices();
    for (std::size_t i = 0; i < rows_.size(); ++i) place(rows_[i]);
    return drawn();
  }

 private:
  // A node, or a bend: where an edge passes a layer. Edges from one node share theirs.
  struct Vertex {
    int width = 0;
    std::vector<std::size_t> predecessors;
    double middle = 0;  // where it is wanted, then where it is
  };

  void add_vertices() {
    vertices_.assign(num_nodes_, {sizes_.node_width, {}, 0});
    std::vector<std::size_t> last(layers_);  // that edges from a node reach
    for (const LayoutEdge& e : edges_) last[e.from] = std::max(last[e.from], layers_[e.to]);
    for (std::size_t i = 0; i < num_nodes_; ++i) add_to_row(layers_[i], i);
    first_bend_.resize(num_nodes_);
    for (std::size_t i = 0; i < num_nodes_; ++i) {
      first_bend_[i] = vertices_.size();
      for (std::size_t layer = layers_[i] + 1; layer < last[i]; ++layer) {
        const std::size_t before = layer == layers_[i] + 1 ? i : vertices_.size() - 1;
        add_to_row(layer, vertices_.size());
        vertices_.push_back({sizes_.bend_width, {before}, 0});
      }
    }
    for (const LayoutEdge& e : edges_) {
      const std::size_t passed = layers_[e.to] - layers_[e.from] - 1;
      vertices_[e.to].predecessors.push_back(passed == 0 ? e.from
                                                         : first_bend_[e.from] + passed - 1);
    }
  }

  void add_to_row(std::size_t layer, std::size_t vertex) {
    if (rows_.size() <= layer) rows_.resize(layer + 1);
    rows_[layer].push_back(vertex);
  }

  // Rows above have their places.
  void place(std::vector<std::size_t>& row) {
    double rightmost = 0;
    for (const std::size_t v : row) {
      if (vertices_[v].predecessors.empty()) continue;
      vertices_[v].middle = wanted_place(v);
      rightmost = std::max(rightmost, vertices_[v].middle);
    }
    for (const std::size_t v : row) {
      if (vertices_[v].predecessors.empty()) vertices_[v].middle = rightmost;
    }
    std::stable_sort(row.begin(), row.end(), [&](std::size_t a, std::size_t b) {
      return vertices_[a].middle < vertices_[b].middle;
    });
    std::vector<double> wanted, needed;  // needed: of the neighbours to the left
    for (std::size_t i = 0; i < row.size(); ++i) {
      needed.push_back(i == 0 ? 0 : needed.back() + distance(row[i - 1], row[i]));
      wanted.push_back(vertices_[row[i]].middle - needed.back());
    }
    const std::vector<double> places = ascending(wanted);
    for (std::size_t i = 0; i < row.size(); ++i) vertices_[row[i]].middle = places[i] + needed[i];
  }

  double wanted_place(std::size_t v) const {
    const std::vector<std::size_t>& predecessors = vertices_[v].predecessors;
    double sum = 0;
    for (const std::size_t p : predecessors) sum += vertices_[p].middle;
    const double mean = sum / static_cast<double>(predecessors.size());
    return predecessors.size() > 1 ? mean * kTowardsMiddle : mean;
  }

  double distance(std::size_t a, std::size_t b) const {
    return (vertices_[a].width + vertices_[b].width) / 2.0 + sizes_.between_neighbours;
  }

  int top_of(std::size_t layer) const {
    return static_cast<int>(layer) * (sizes_.node_height + sizes_.between_layers);
  }

  LayeredLayout drawn() const {
    double left = 0, right = 0;
    for (const Vertex& v : vertices_) {
      left = std::min(left, v.middle - v.width / 2.0);
      right = std::max(right, v.middle + v.width / 2.0);
    }
    const auto x_of = [&](std::size_t v) {
      return static_cast<int>(std::lround(vertices_[v].middle - left));
    };
    LayeredLayout out;
    out.width = static_cast<int>(std::ceil(right - left));
    out.height = rows_.empty() ? 0 : top_of(rows_.size() - 1) + sizes_.node_height;
    for (std::size_t i = 0; i < num_nodes_; ++i) {
      out.nodes.push_back({x_of(i) - sizes_.node_width / 2, top_of(layers_[i])});
    }
    for (const LayoutEdge& e : edges_) {
      std::vector<Point>& points = out.edges.emplace_back();
      points.push_back({x_of(e.from), top_of(layers_[e.from]) + sizes_.node_height});
      for (std::size_t layer = layers_[e.from] + 1; layer < layers_[e.to]; ++layer) {
        const int x = x_of(first_bend_[e.from] + layer - layers_[e.from] - 1);
        points.push_back({x, top_of(layer)});
        points.push_back({x, top_of(layer) + sizes_.node_height});
      }
      points.push_back({x_of(e.to), top_of(layers_[e.to])});
    }
    return out;
  }

  std::size_t num_nodes_;
  std::span<const LayoutEdge> edges_;
  const LayoutSizes& sizes_;
  std::vector<std::size_t> layers_;             // of nodes
  std::vector<Vertex> vertices_;                // nodes first
  std::vector<std::size_t> first_bend_;         // of each node, one a layer
  std::vector<std::vector<std::size_t>> rows_;  // vertices by layer
};

}  // namespace

std::optional<LayeredLayout> layered_layout(std::size_t num_nodes,
                                            std::span<const LayoutEdge> edges,
                                            const LayoutSizes& sizes) {
  Layering layering(num_nodes, edges, sizes);
  if (!layering.has_room()) return std::nullopt;
  return layering.layout();
}

}  // namespace tessera::driver
