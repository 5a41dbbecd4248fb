// SPDX-License-Identifier: Apache-2.0
#include "byoc/regions.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "support/check.h"

namespace tessera::byoc {
namespace {

using relay::Function;
using relay::NodeId;

using Index = std::int32_t;
using Edges = std::vector<std::vector<Index>>;

void sort_unique(std::vector<Index>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

// Composites and other nodes as one graph. `unit_of[node]` is -1 for parameters and constants.
struct UnitGraph {
  std::vector<Index> unit_of;
  std::vector<Unit> units;
  Edges successors;
};

// The node of the body that holds `id`: itself, or the literal or `if` around it.
NodeId owner_in_body(const Function& f, NodeId id) {
  while (f[id].region != Function::kBody) id = f.region(f[id].region).owner;
  return id;
}

UnitGraph make_graph(const Function& f, const Claims& claims) {
  UnitGraph g;
  g.unit_of.assign(f.num_nodes(), -1);
  for (std::size_t c = 0; c < claims.claims.size(); ++c) {
    g.units.push_back({static_cast<Index>(claims.claims[c].choice), {c}, {}});
  }
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const NodeId id{i};
    if (f[id].region != Function::kBody || f.as<relay::Param>(id) || f.as<relay::Constant>(id))
      continue;
    if (claims.of_node[i] >= 0) {
      g.unit_of[i] = claims.of_node[i];
      continue;
    }
    g.unit_of[i] = static_cast<Index>(g.units.size());
    g.units.push_back({-1, {}, id});
  }
  g.successors.resize(g.units.size());
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const Index to = g.unit_of[owner_in_body(f, NodeId{i}).index()];
    for (const NodeId operand : f.operands(NodeId{i})) {
      const Index from = g.unit_of[owner_in_body(f, operand).index()];
      if (from >= 0 && to >= 0 && from != to)
        g.successors[static_cast<std::size_t>(from)].push_back(to);
    }
  }
  for (auto& list : g.successors) sort_unique(list);
  return g;
}

// Kahn's order; among those that are ready, the one with the lowest key first.
std::vector<Index> topological_order(const Edges& successors,
                                     const std::vector<std::size_t>& keys) {
  std::vector<Index> waits(successors.size(), 0), order;
  for (const auto& list : successors) {
    for (const Index to : list) ++waits[static_cast<std::size_t>(to)];
  }
  const auto later = [&](Index a, Index b) {
    return keys[static_cast<std::size_t>(a)] > keys[static_cast<std::size_t>(b)];
  };
  std::priority_queue<Index, std::vector<Index>, decltype(later)> ready(later);
  for (std::size_t u = 0; u < waits.size(); ++u) {
    if (waits[u] == 0) ready.push(static_cast<Index>(u));
  }
  while (!ready.empty()) {
    const Index u = ready.top();
    ready.pop();
    order.push_back(u);
    for (const Index to : successors[static_cast<std::size_t>(u)]) {
      if (--waits[static_cast<std::size_t>(to)] == 0) ready.push(to);
    }
  }
  TESSERA_CHECK(order.size() == successors.size(), "regions that wait for each other");
  return order;
}

class Merger {
 public:
  Merger(const UnitGraph& g, std::span<const BackendChoice> choices) : g_(g) {
    parent_.resize(g.units.size());
    std::iota(parent_.begin(), parent_.end(), 0);
    for (const Unit& unit : g.units) {
      const bool any = unit.choice >= 0 &&
                       choices[static_cast<std::size_t>(unit.choice)].backend->fusion_style() ==
                           FusionStyle::kAnyConvex;
      merges_.push_back(any);
    }
  }

  // The group of each unit.
  std::vector<Index> run() {
    merge_levels();
    while (merge_neighbours()) {
    }
    for (std::size_t u = 0; u < parent_.size(); ++u) parent_[u] = find(static_cast<Index>(u));
    return parent_;
  }

 private:
  Index find(Index u) {
    while (parent_[at(u)] != u) u = parent_[at(u)] = parent_[at(parent_[at(u)])];
    return u;
  }
  static std::size_t at(Index u) { return static_cast<std::size_t>(u); }
  bool may_merge(Index a, Index b) const {
    return merges_[at(a)] && merges_[at(b)] && g_.units[at(a)].choice == g_.units[at(b)].choice;
  }

  // In linear time. The level counts the changes of back end on the way from the inputs. A path
  // that leaves a group of one back end and one level comes back on a higher level, so merging
  // neighbours of one level makes no cycle.
  void merge_levels() {
    std::vector<std::size_t> keys(g_.units.size());
    std::iota(keys.begin(), keys.end(), 0);
    std::vector<Index> level(g_.units.size(), 0);
    for (const Index u : topological_order(g_.successors, keys)) {
      for (const Index to : g_.successors[at(u)]) {
        level[at(to)] = std::max(level[at(to)], level[at(u)] + (may_merge(u, to) ? 0 : 1));
      }
    }
    for (std::size_t u = 0; u < g_.units.size(); ++u) {
      for (const Index to : g_.successors[u]) {
        if (may_merge(static_cast<Index>(u), to) && level[u] == level[at(to)]) {
          parent_[at(find(to))] = find(static_cast<Index>(u));
        }
      }
    }
  }

  // What the levels kept apart: a group and its successor, where no path leads around. One merge,
  // or false.
  bool merge_neighbours() {
    Edges edges(g_.units.size());
    for (std::size_t u = 0; u < g_.units.size(); ++u) {
      const Index from = find(static_cast<Index>(u));
      for (const Index to : g_.successors[u]) {
        if (find(to) != from) edges[at(from)].push_back(find(to));
      }
    }
    for (auto& list : edges) sort_unique(list);
    for (std::size_t u = 0; u < edges.size(); ++u) {
      for (const Index to : edges[u]) {
        if (!may_merge(static_cast<Index>(u), to) || leads_around(edges, static_cast<Index>(u), to))
          continue;
        parent_[at(to)] = static_cast<Index>(u);
        return true;
      }
    }
    return false;
  }

  static bool leads_around(const Edges& edges, Index from, Index to) {
    std::vector<bool> seen(edges.size());
    std::vector<Index> todo;
    for (const Index next : edges[at(from)]) {
      if (next != to) todo.push_back(next);
    }
    while (!todo.empty()) {
      const Index u = todo.back();
      todo.pop_back();
      if (u == to) return true;
      if (seen[at(u)]) continue;
      seen[at(u)] = true;
      todo.insert(todo.end(), edges[at(u)].begin(), edges[at(u)].end());
    }
    return false;
  }

  const UnitGraph& g_;
  std::vector<Index> parent_;
  std::vector<bool> merges_;
};

}  // namespace

std::vector<Unit> form_units(const Function& f, const Claims& claims,
                             std::span<const BackendChoice> choices) {
  const UnitGraph g = make_graph(f, claims);
  const std::vector<Index> group_of = Merger(g, choices).run();
  // Groups numbered densely, with the graph between them.
  std::vector<Index> number(g.units.size(), -1);
  std::vector<Unit> groups;
  std::vector<std::size_t> keys;
  const auto node_of = [&](const Unit& u) {
    return u.choice < 0 ? u.node : claims.claims[u.claims.front()].match.root;
  };
  for (std::size_t u = 0; u < g.units.size(); ++u) {
    Index& n = number[static_cast<std::size_t>(group_of[u])];
    if (n < 0) {
      n = static_cast<Index>(groups.size());
      groups.push_back({g.units[u].choice, {}, g.units[u].node});
      keys.push_back(node_of(g.units[u]).index());
    }
    auto& members = groups[static_cast<std::size_t>(n)].claims;
    members.insert(members.end(), g.units[u].claims.begin(), g.units[u].claims.end());
  }
  Edges edges(groups.size());
  for (std::size_t u = 0; u < g.units.size(); ++u) {
    const Index from = number[static_cast<std::size_t>(group_of[u])];
    for (const Index s : g.successors[u]) {
      const Index to = number[static_cast<std::size_t>(group_of[static_cast<std::size_t>(s)])];
      if (to != from) edges[static_cast<std::size_t>(from)].push_back(to);
    }
  }
  for (auto& list : edges) sort_unique(list);
  std::vector<Unit> out;
  for (const Index n : topological_order(edges, keys)) {
    out.push_back(std::move(groups[static_cast<std::size_t>(n)]));
  }
  return out;
}

}  // namespace tessera::byoc
