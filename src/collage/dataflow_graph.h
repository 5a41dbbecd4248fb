// SPDX-License-Identifier: Apache-2.0
// What the search asks about a function's nodes, by their post-DFS index (relay-spec 9.3): how they
// fuse, what they are called, and what flows where.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "collage/index_set.h"
#include "collage/node_facts.h"

namespace tessera::collage {

class DataflowGraph {
 public:
  // Function and pool must live as long; types are inferred.
  DataflowGraph(const relay::Function& f, const ConstantPool& pool);

  std::size_t size() const { return graph_.size(); }
  const relay::IndexedGraph& indexed() const { return graph_; }
  const relay::IndexedNode& operator[](Index index) const { return graph_[index]; }
  const relay::Function& function() const { return graph_.function(); }
  const ConstantPool& pool() const { return pool_; }
  const NodeFacts& facts(Index index) const { return facts_[index]; }
  // The function itself, whose value leaves the graph.
  bool is_external(Index index) const { return index + 1 == graph_.size(); }

  // A set of nodes by its membership, and its last member.
  struct NodeSet {
    std::function<bool(Index)> contains;
    std::size_t last = 0;
  };
  // Does a value of `from`, ascending and in none of the sets, reach `to` on a way that leaves
  // `around` aside? Ways are looked at as far as the last of `to`: indices ascend along them.
  bool reaches(std::span<const Index> from, const NodeSet& to, const NodeSet& around) const;

 private:
  Index first_of_run(Index index) const;

  relay::IndexedGraph graph_;
  const ConstantPool& pool_;
  std::vector<NodeFacts> facts_;
  // By node: all from here to the node are what it depends on, as the order is depth first.
  std::vector<Index> depends_from_;
  mutable std::vector<std::uint32_t> seen_;  // by node: the last query that met it
  mutable std::uint32_t query_ = 0;
};

}  // namespace tessera::collage
