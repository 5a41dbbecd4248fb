// SPDX-License-Identifier: Apache-2.0
// For tests: graphs with candidates on them.
#pragma once

#include <string>
#include <vector>

#include "collage/candidate.h"
#include "passes/testing/text.h"

namespace tessera::collage::testing {

// `@main` of a text, as a graph. It stays where it is. `constants` are those that the text
// mentions.
struct NamedGraph {
  explicit NamedGraph(const std::string& text, std::vector<Tensor> constants = {})
      : module(passes::testing::module_of(text, std::move(constants))),
        graph(module.functions.at("main"), module.constants) {}
  NamedGraph(const NamedGraph&) = delete;

  SubGraph sub_graph(std::vector<Index> inside) const {
    return SubGraph(graph, IndexSet(graph.size(), std::move(inside)));
  }

  Module module;
  DataflowGraph graph;
};

// A back end, or a machine, that proposes what the rule does.
inline PlacementSpec spec_of(std::string_view target, Rule rule = {}) {
  return {std::string(target), 0, Target(target), std::move(rule)};
}

// The nodes of candidates as texts, in their order.
inline std::vector<std::string> texts_of(const std::vector<Candidate>& candidates) {
  std::vector<std::string> out;
  for (const Candidate& candidate : candidates) {
    out.push_back(to_string(candidate.sub_graph.inside()));
  }
  return out;
}

}  // namespace tessera::collage::testing
