// SPDX-License-Identifier: Apache-2.0
// The post-DFS view of a function: what the matcher's dominance tests and the placement search
// count by. Operators, and references to the same global or the same constant however often they
// occur, have one index each, at their first visit; a `let` has two, for its variable and for the
// expression; the function itself comes last.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "relay/function.h"

namespace tessera::relay {

enum class IndexedKind : std::uint8_t { kNode, kOperator, kLet, kFunction };

struct IndexedNode {
  IndexedKind kind = IndexedKind::kNode;
  NodeId node;                   // kNode (a Let node: the variable), kLet; invalid otherwise
  const Operator* op = nullptr;  // kOperator
  std::uint32_t basic_block;     // index of the innermost enclosing function or `if`
  std::uint32_t dominator;       // parent in the post-dominator tree
  std::uint32_t depth = 0;       // in that tree
  std::vector<std::uint32_t> inputs, outputs;
};

class IndexedGraph {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  // Dead nodes have no index.
  explicit IndexedGraph(const Function& f);

  std::size_t size() const { return nodes_.size(); }
  const IndexedNode& operator[](std::uint32_t index) const { return nodes_[index]; }
  // kNone for a dead node; of a Let, the variable.
  std::uint32_t index_of(NodeId id) const { return index_of_[id.index()]; }
  // Does every path from b to the function's end pass through a (and a is not b)?
  bool dominates(std::uint32_t a, std::uint32_t b) const;
  const Function& function() const { return f_; }

 private:
  friend class GraphIndexer;
  std::uint32_t ancestor(std::uint32_t node, std::uint32_t depth) const;
  std::uint32_t common_dominator(std::uint32_t a, std::uint32_t b) const;
  void find_dominators();

  const Function& f_;
  std::vector<IndexedNode> nodes_;
  std::vector<std::uint32_t> index_of_;
  std::vector<std::uint32_t> far_;  // an ancestor in the post-dominator tree; a root's is itself
};

}  // namespace tessera::relay
