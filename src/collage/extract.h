// SPDX-License-Identifier: Apache-2.0
// Sub-graphs as functions, and functions that call them where they were (relay-spec 9.5).
#pragma once

#include <span>
#include <vector>

#include "collage/sub_graph.h"

namespace tessera::collage {

// A sub-graph as a function, in which its nested sub-graphs are called as literals.
struct SubGraphFunction {
  relay::Function function;
  std::vector<Index> inputs;   // one a parameter, `FunctionVar_<k>`
  std::vector<Index> outputs;  // the exits in order; several make a tuple
};

// Parameters come in the order in which values are met from the last exit back, callees and
// arguments in order. Inlinable leaves are copied in. Nested sub-graphs take their members in the
// order that these have in the function.
SubGraphFunction extract(const DataflowGraph& graph, const SubGraph& sub_graph, relay::Attrs attrs);

// Can a function hold all of its nodes? Operators, parameters, `let`s and functions are no values
// that one could return.
bool can_extract(const DataflowGraph& graph, const SubGraph& sub_graph);

// The function with a call of a literal for each of these disjoint sub-graphs.
relay::Function rewrite(const DataflowGraph& graph, std::span<const NestedSubGraph> sub_graphs);

}  // namespace tessera::collage
