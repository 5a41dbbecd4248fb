// SPDX-License-Identifier: Apache-2.0
#include "collage/candidate.h"

#include <tuple>

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

Candidate joined(const DataflowGraph& graph, const Candidate& a, const Candidate& b) {
  TESSERA_CHECK(a.spec == b.spec, "candidates of two specs");
  return {joined_labels(a.rule, b.rule), a.sub_graph.joined_with(graph, b.sub_graph), a.spec};
}

}  // namespace tessera::collage
