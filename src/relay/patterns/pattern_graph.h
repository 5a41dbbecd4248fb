// SPDX-License-Identifier: Apache-2.0
// The post-DFS view of a pattern: every pattern object once, numbered, the root last.
#pragma once

#include <cstdint>
#include <vector>

#include "relay/patterns/pattern_node.h"

namespace tessera::relay {

struct PatternGraphNode {
  const PatternNode* pattern = nullptr;
  std::vector<std::uint32_t> children;
};

class PatternGraph {
 public:
  explicit PatternGraph(const Pattern& pattern);

  std::size_t size() const { return nodes_.size(); }
  const PatternGraphNode& operator[](std::uint32_t i) const { return nodes_[i]; }
  std::uint32_t root() const { return root_; }

  // A pattern that the matcher makes up of parts of this one.
  std::uint32_t add(const PatternNode* pattern, std::vector<std::uint32_t> children);
  // Forgets what was added after the first `size` nodes.
  void truncate(std::size_t size) { nodes_.resize(size); }

 private:
  Pattern held_;
  std::vector<PatternGraphNode> nodes_;
  std::uint32_t root_ = 0;
};

}  // namespace tessera::relay
