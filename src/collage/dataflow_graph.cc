// SPDX-License-Identifier: Apache-2.0
#include "collage/dataflow_graph.h"

namespace tessera::collage {

DataflowGraph::DataflowGraph(const relay::Function& f, const ConstantPool& pool)
    : graph_(f), pool_(pool), seen_(graph_.size(), 0) {
  facts_.reserve(size());
  for (Index i = 0; i < size(); ++i) facts_.push_back(facts_of(graph_, i, pool));
}

bool DataflowGraph::reaches(std::span<const Index> from, const IndexSet& to,
                            const IndexSet& around) const {
  if (to.empty()) return false;
  const std::size_t last = to.last_inside();
  ++query_;
  std::vector<Index> stack;
  const auto enter = [&](Index index) {
    if (index >= last || seen_[index] == query_) return;
    seen_[index] = query_;
    stack.push_back(index);
  };
  for (const Index index : from) enter(index);
  while (!stack.empty()) {
    const Index at = stack.back();
    stack.pop_back();
    for (const Index next : graph_[at].outputs) {
      if (to.contains(next)) return true;
      if (!around.contains(next)) enter(next);
    }
  }
  return false;
}

}  // namespace tessera::collage
