// SPDX-License-Identifier: Apache-2.0
#include "collage/candidate.h"

#include <tuple>
#include <utility>

#include "collage/labels.h"
#include "support/check.h"

namespace tessera::collage {

bool operator==(const Candidate& a, const Candidate& b) {
  return a.spec == b.spec && a.sub_graph == b.sub_graph;
}

bool operator<(const Candidate& a, const Candidate& b) {
  if (a.sub_graph.inside() != b.sub_graph.inside()) return a.sub_graph < b.sub_graph;
  return std::tie(a.rule, a.spec->priority) < std::tie(b.rule, b.spec->priority);
}

Candidate single_node(const DataflowGraph& graph, const PlacementSpec& spec, Index index,
                      std::string rule) {
  return {std::move(rule), SubGraph(graph, IndexSet(graph.size(), {index})), &spec};
}

Candidate joined(const DataflowGraph& graph, std::span<const Candidate> parts) {
  std::string rule;
  std::vector<SubGraph> sub_graphs;
  for (const Candidate& part : parts) {
    TESSERA_CHECK(part.spec == parts[0].spec, "candidates of two specs");
    rule = joined_labels(std::move(rule), part.rule);
    sub_graphs.push_back(part.sub_graph);
  }
  return {std::move(rule), SubGraph::join(graph, sub_graphs), parts[0].spec};
}

}  // namespace tessera::collage
