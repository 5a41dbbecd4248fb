// SPDX-License-Identifier: Apache-2.0
#include "collage/dataflow_graph.h"

#include <algorithm>

namespace tessera::collage {

DataflowGraph::DataflowGraph(const relay::Function& f, const ConstantPool& pool)
    : graph_(f), pool_(pool), seen_(graph_.size(), 0) {
  facts_.reserve(size());
  depends_from_.reserve(size());
  for (Index i = 0; i < size(); ++i) {
    facts_.push_back(facts_of(graph_, i, pool));
    depends_from_.push_back(first_of_run(i));
  }
}

// What was met for the first time below a node stands right before it, input after input.
Index DataflowGraph::first_of_run(Index index) const {
  const auto& inputs = graph_[index].inputs;
  Index first = index;
  while (first > 0 && std::find(inputs.begin(), inputs.end(), first - 1) != inputs.end()) {
    first = depends_from_[first - 1];
  }
  return first;
}

bool DataflowGraph::reaches(std::span<const Index> from, const NodeSet& to,
                            const NodeSet& around) const {
  ++query_;
  std::vector<Index> stack;
  bool found = false;
  const auto enter = [&](Index index) {
    if (index >= to.last || seen_[index] == query_) return;
    // The last of `to` depends on it, by nodes after it, among which none is to be avoided.
    found = found || (index >= depends_from_[to.last] && index > around.last);
    seen_[index] = query_;
    stack.push_back(index);
  };
  for (std::size_t i = 0; i < from.size() && from[i] < to.last; ++i) enter(from[i]);
  while (!stack.empty() && !found) {
    const Index at = stack.back();
    stack.pop_back();
    for (const Index next : graph_[at].outputs) {
      if (to.contains(next)) return true;
      if (!around.contains(next)) enter(next);
    }
  }
  return found;
}

}  // namespace tessera::collage
