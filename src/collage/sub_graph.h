// SPDX-License-Identifier: Apache-2.0
// A set of nodes that one function could hold, with what it is made of (relay-spec 9.4).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collage/dataflow_graph.h"
#include "relay/attributes.h"

namespace tessera::collage {

// What a sub-graph must keep to; 0 is no limit.
struct SubGraphLimits {
  std::size_t max_exits = 0;
  // May an exit also be read inside?
  bool allow_taps = false;
  std::size_t max_depth = 0;
};

struct NestedSubGraph;

// An immutable value over one graph, cheap to copy.
class SubGraph {
 public:
  // With the kinds and labels of its nodes.
  SubGraph(const DataflowGraph& graph, IndexSet inside);
  SubGraph(const DataflowGraph& graph, IndexSet inside, std::vector<NestedSubGraph> nested);

  const IndexSet& inside() const;
  Index first() const;
  Index last() const;
  // Members that read values from outside; and members whose value leaves.
  const IndexSet& entry() const;
  const IndexSet& exit() const;
  // What is outside and reads members.
  const IndexSet& output() const;
  // What is outside and is read by members, inlinable leaves excepted.
  IndexSet input(const DataflowGraph& graph) const;
  // The longest way from an entry to an exit, in nodes; 0 without an entry.
  std::size_t depth() const;
  relay::OpPattern kind() const;  // the greatest of its nodes'
  const std::string& label() const;
  // Sub-graphs of this one, sorted, each of which becomes a function with the attributes.
  const std::vector<NestedSubGraph>& nested() const;

  bool is_valid(const DataflowGraph& graph, const SubGraphLimits& limits) const;
  // All as one, with their labels in this order. Nested ones with equal attributes become one,
  // unless these hold `Composite`. Needs disjoint sub-graphs.
  static SubGraph join(const DataflowGraph& graph, std::span<const SubGraph> parts);
  // The same nodes; this sub-graph becomes its only nested one.
  SubGraph with_attrs(relay::Attrs attrs) const;

  // The same nodes, and pairwise equal nested sub-graphs, whatever their attributes.
  friend bool operator==(const SubGraph& a, const SubGraph& b);
  // By first member, then by the order of IndexSet.
  friend bool operator<(const SubGraph& a, const SubGraph& b);

 private:
  struct Data;
  SubGraph(const DataflowGraph& graph, Data data);

  std::shared_ptr<const Data> data_;
};

struct NestedSubGraph {
  SubGraph sub_graph;
  relay::Attrs attrs;  // of the function
};

struct SubGraph::Data {
  IndexSet inside, entry, exit, output;
  std::size_t depth = 0;
  relay::OpPattern kind = relay::OpPattern::kElemWise;
  std::string label;
  std::vector<NestedSubGraph> nested;
};

inline const IndexSet& SubGraph::inside() const { return data_->inside; }
inline Index SubGraph::first() const { return data_->inside.members().front(); }
inline Index SubGraph::last() const { return data_->inside.members().back(); }
inline const IndexSet& SubGraph::entry() const { return data_->entry; }
inline const IndexSet& SubGraph::exit() const { return data_->exit; }
inline const IndexSet& SubGraph::output() const { return data_->output; }
inline std::size_t SubGraph::depth() const { return data_->depth; }
inline relay::OpPattern SubGraph::kind() const { return data_->kind; }
inline const std::string& SubGraph::label() const { return data_->label; }
inline const std::vector<NestedSubGraph>& SubGraph::nested() const { return data_->nested; }

// Do values of `upstream` go into `downstream`, and neither flows into the other through anything
// else? Such two can be one.
bool are_touching(const DataflowGraph& graph, const SubGraph& upstream, const SubGraph& downstream);

}  // namespace tessera::collage
