// SPDX-License-Identifier: Apache-2.0
#include "relay/rewrite.h"

#include <algorithm>

#include "byoc/annotations.h"
#include "collage/call_sub_graph.h"
#include "relay/function_attributes.h"
#include "relay/patterns/matcher.h"

namespace tessera::collage {
namespace {

using relay::Copier;
using relay::NodeId;
using relay::expr_facts::as;

// Is it in a primitive function, which stays as it is?
bool is_sealed(const DataflowGraph& graph, Index index) {
  for (Index block = graph[index].basic_block; block != relay::IndexedGraph::kNone;
       block = graph[block].basic_block) {
    const auto* literal = as<relay::Literal>(graph.indexed(), block);
    if (literal != nullptr && relay::is_primitive(literal->attrs)) return true;
  }
  return false;
}

// Replaces sub-graphs by calls, at the first of their exits that is met; what they take is made
// before that.
class Rewriter {
 public:
  Rewriter(const DataflowGraph& graph, std::span<const NestedSubGraph> sub_graphs)
      : graph_(graph),
        f_(graph.function()),
        captured_(relay::captures(f_)),
        part_of_(f_.num_nodes(), kNone) {
    for (const NestedSubGraph& nested : sub_graphs) {
      if (is_sealed(graph, nested.sub_graph.first())) continue;
      for (const Index index : nested.sub_graph.exit()) {
        part_of_[graph[index].node.index()] = static_cast<std::uint32_t>(parts_.size());
      }
      parts_.push_back({extract(graph, nested.sub_graph, nested.attrs), {}});
    }
  }

  relay::Function run() {
    const byoc::PostOrder order = byoc::post_order(f_, [&](NodeId id) { return reads(id); });
    TESSERA_CHECK(!order.cycle, "sub-graphs need each other");
    return relay::rewrite(f_, order.nodes, [&](Copier& c, NodeId id) { return replace(c, id); });
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  struct Part {
    SubGraphFunction function;
    std::vector<NodeId> values;  // new nodes for its outputs
  };

  std::vector<NodeId> reads(NodeId id) const {
    std::vector<NodeId> out;
    if (part_of_[id.index()] != kNone) {
      for (const Index input : parts_[part_of_[id.index()]].function.inputs) {
        if (!is_mentioned(input)) out.push_back(graph_[input].node);
      }
      return out;
    }
    const auto operands = f_.operands(id);
    out.assign(operands.begin(), operands.end());
    const auto& captured = captured_[id.index()];
    out.insert(out.end(), captured.begin(), captured.end());
    return out;
  }

  // A constant or global has many nodes, and the first may lie where a call does not see it.
  bool is_mentioned(Index index) const {
    return as<relay::Constant>(graph_.indexed(), index) != nullptr ||
           as<relay::GlobalRef>(graph_.indexed(), index) != nullptr;
  }

  std::optional<NodeId> replace(Copier& c, NodeId id) {
    if (part_of_[id.index()] == kNone) return std::nullopt;
    Part& part = parts_[part_of_[id.index()]];
    if (part.values.empty()) part.values = call(c, part.function);
    for (std::size_t i = 0; i < part.values.size(); ++i) {
      if (graph_[part.function.outputs[i]].node == id) return part.values[i];
    }
    TESSERA_CHECK(false, "an exit is no output");
    return std::nullopt;
  }

  std::vector<NodeId> call(Copier& c, const SubGraphFunction& function) const {
    std::vector<NodeId> arguments;
    for (const Index input : function.inputs) {
      const NodeId node = graph_[input].node;
      arguments.push_back(is_mentioned(input) ? c.builder().copy(f_, node, {}) : c.map(node));
    }
    return call_sub_graph(c.builder(), graph_, function, arguments);
  }

  const DataflowGraph& graph_;
  const relay::Function& f_;
  const std::vector<std::vector<NodeId>> captured_;
  std::vector<std::uint32_t> part_of_;  // by node, of exits
  std::vector<Part> parts_;
};

}  // namespace

relay::Function rewrite(const DataflowGraph& graph, std::span<const NestedSubGraph> sub_graphs) {
  return sub_graphs.empty() ? graph.function() : Rewriter(graph, sub_graphs).run();
}

}  // namespace tessera::collage
