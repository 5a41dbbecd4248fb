// SPDX-License-Identifier: Apache-2.0
// A sub-graph and who would run it, and where candidates come from (relay-spec 9.6).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collage/cost.h"
#include "collage/sub_graph.h"
#include "relay/patterns/pattern_table.h"
#include "types/target.h"

namespace tessera::collage {

struct PlacementSpec;

struct Candidate {
  std::string rule;  // what proposed it
  SubGraph sub_graph;
  const PlacementSpec* spec = nullptr;  // who would run it
  Cost cost = {};
};

// The same sub-graph for the same spec.
bool operator==(const Candidate& a, const Candidate& b);
// In the order of sub-graphs, then of rules, then of specs.
bool operator<(const Candidate& a, const Candidate& b);

// One node.
Candidate single_node(const DataflowGraph& graph, const PlacementSpec& spec, Index index,
                      std::string rule = {});
// All as one; needs disjoint sub-graphs and one spec.
Candidate joined(const DataflowGraph& graph, std::span<const Candidate> parts);

// What a spec proposes for a graph, in an order that does not depend on anything else. Fails where
// that is too much to look at.
using Candidates = Result<std::vector<Candidate>>;
using Rule = std::function<Candidates(const DataflowGraph&, const PlacementSpec&)>;

// Somebody who can run sub-graphs.
struct PlacementSpec {
  std::string name;          // of a back end its kind of target, `tvm_<kind>` of a machine, `host`
  std::size_t priority = 0;  // its place among all of them
  Target target;
  Rule rule;
  // Why the function of a candidate cannot be run; without it every one can.
  std::function<std::optional<relay::Refusal>(const relay::Function&)> validate = {};
};

}  // namespace tessera::collage
