// SPDX-License-Identifier: Apache-2.0
#include "relay/patterns/pattern_graph.h"

#include <unordered_map>

#include "relay/structural_equal.h"

namespace tessera::relay {

PatternGraph::PatternGraph(const Pattern& pattern) : held_(pattern) {
  std::unordered_map<const PatternNode*, std::uint32_t> number;  // never iterated
  struct Frame {
    const PatternNode* node;
    std::size_t next = 0;
  };
  std::vector<Frame> stack{{pattern.get()}};
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.next < top.node->children.size()) {
      const PatternNode* child = top.node->children[top.next++].get();
      if (!number.contains(child)) stack.push_back({child});
      continue;
    }
    const PatternNode* node = top.node;
    stack.pop_back();
    if (number.contains(node)) continue;
    std::vector<std::uint32_t> children;
    for (const Pattern& child : node->children) children.push_back(number.at(child.get()));
    number.emplace(node, add(node, std::move(children)));
  }
  root_ = static_cast<std::uint32_t>(nodes_.size() - 1);
}

std::uint32_t PatternGraph::add(const PatternNode* pattern, std::vector<std::uint32_t> children) {
  nodes_.push_back({pattern, std::move(children)});
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

namespace {

bool equal_payload(const PatternNode& a, const PatternNode& b) {
  if (a.kind != b.kind || a.name != b.name || a.capture != b.capture || a.any != b.any)
    return false;
  if (a.scalar != b.scalar || a.index != b.index || !(a.attrs == b.attrs)) return false;
  if (!(a.type == b.type) || !(a.dtype == b.dtype) || !(a.shape == b.shape)) return false;
  return a.expr == nullptr || structural_equal(*a.expr, *b.expr);
}

}  // namespace

bool structural_equal(const Pattern& a, const Pattern& b) {
  const PatternGraph x(a), y(b);
  if (x.size() != y.size()) return false;
  for (std::uint32_t i = 0; i < x.size(); ++i) {
    if (x[i].children != y[i].children || !equal_payload(*x[i].pattern, *y[i].pattern))
      return false;
  }
  return true;
}

}  // namespace tessera::relay
