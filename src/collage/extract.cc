// SPDX-License-Identifier: Apache-2.0
#include "collage/extract.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "collage/call_sub_graph.h"
#include "relay/patterns/matcher.h"
#include "relay/rewrite.h"

namespace tessera::collage {
namespace {

using relay::Copier;
using relay::Function;
using relay::FunctionBuilder;
using relay::IndexedKind;
using relay::NodeId;

std::vector<Index> members(const SubGraph& sub_graph) {
  return {sub_graph.inside().begin(), sub_graph.inside().end()};
}

// One sub-graph on its way into a function. Constants and references to globals may have many nodes
// for one index.
class Extractor {
 public:
  // Members in the order of the graph that it is taken from.
  Extractor(const DataflowGraph& graph, const SubGraph& sub_graph, std::vector<Index> members)
      : graph_(graph),
        f_(graph.function()),
        sub_graph_(sub_graph),
        members_(std::move(members)),
        copier_(f_, builder_, false) {
    for (std::size_t n = 0; n < sub_graph.nested().size(); ++n) {
      for (const Index index : sub_graph.nested()[n].sub_graph.inside()) part_of_[index] = n;
    }
  }

  SubGraphFunction run(relay::Attrs attrs) {
    find_ends();
    declare_params();
    for (const Index output : out_.outputs) make(output);
    finish(std::move(attrs));
    return std::move(out_);
  }

 private:
  bool is_inside(Index index) const { return sub_graph_.inside().contains(index); }
  static constexpr std::size_t kNoPart = static_cast<std::size_t>(-1);
  std::size_t part_of(Index index) const {
    const auto found = part_of_.find(index);
    return found == part_of_.end() ? kNoPart : found->second;
  }

  // What a node reads: callee, arguments, and what literals and branches read inside.
  std::vector<NodeId> reads(NodeId id) const {
    const auto operands = f_.operands(id);
    std::vector<NodeId> out(operands.begin(), operands.end());
    for (const relay::RegionId region : relay::regions_of(f_, id)) {
      for (const NodeId inner : relay::nodes_within(f_, region)) add_captured(inner, region, out);
      out.push_back(f_.region(region).result);
    }
    std::erase_if(out, [&](NodeId read) { return is_nested_in(read, id); });
    return out;
  }
  void add_captured(NodeId inner, relay::RegionId region, std::vector<NodeId>& out) const {
    for (const NodeId operand : f_.operands(inner)) {
      if (!relay::is_within(f_, f_[operand].region, region)) out.push_back(operand);
    }
  }
  bool is_nested_in(NodeId read, NodeId owner) const {
    const auto regions = relay::regions_of(f_, owner);
    return std::any_of(regions.begin(), regions.end(), [&](relay::RegionId region) {
      return relay::is_within(f_, f_[read].region, region);
    });
  }
  // Is it copied to where it is read, rather than handed in?
  bool is_copied(Index index) const { return graph_.facts(index).is_inlinable; }

  // Exits and what nothing else has met, from the last node back.
  void find_ends() {
    std::unordered_set<Index> seen;
    for (std::size_t i = members_.size(); i-- > 0;) {
      if (!sub_graph_.exit().contains(members_[i]) && seen.contains(members_[i])) continue;
      walk(members_[i], seen, [&](Index index) {
        if (!is_inside(index) && !is_copied(index)) out_.inputs.push_back(index);
      });
      out_.outputs.push_back(members_[i]);
    }
    std::reverse(out_.outputs.begin(), out_.outputs.end());
  }

  // Calls leave(index) for all that is new below a root, operands first, as far as the inputs.
  template <class Leave>
  void walk(Index root, std::unordered_set<Index>& seen, const Leave& leave) const {
    struct Step {
      Index index;
      std::vector<NodeId> reads;
      std::size_t next = 0;
    };
    std::vector<Step> stack;
    const auto enter = [&](Index index) {
      if (!seen.insert(index).second) return;
      if (is_inside(index) || is_copied(index)) {
        stack.push_back({index, reads(graph_[index].node)});
      } else {
        leave(index);
      }
    };
    enter(root);
    while (!stack.empty()) {
      Step& top = stack.back();
      if (top.next < top.reads.size()) {
        enter(graph_.indexed().index_of(top.reads[top.next++]));
        continue;
      }
      const Index index = top.index;
      stack.pop_back();
      leave(index);
    }
  }

  // The members of a part in the order of the function's own nodes: results may be met earlier
  // there than in the graph.
  std::vector<Index> members_of(const SubGraph& part) const {
    if (part.exit().count() == 1) return members(part);
    std::vector<Index> out;
    std::unordered_set<Index> seen;
    for (const Index output : out_.outputs) {
      walk(output, seen, [&](Index index) {
        if (part.inside().contains(index)) out.push_back(index);
      });
    }
    return out;
  }

  void declare_params() {
    for (std::size_t k = 0; k < out_.inputs.size(); ++k) {
      const Index index = out_.inputs[k];
      const Type type = relay::expr_facts::type(graph_.indexed(), index, &graph_.pool());
      builder_.at(f_[graph_[index].node].location);
      const NodeId param = builder_.param(fmt::format("FunctionVar_{}", k), type);
      builder_.set_type(param, type);
      value_[index] = param;
    }
  }

  // What must be there before a node is made: of one in a nested sub-graph, all that this takes.
  std::vector<Index> needs(Index index) {
    const std::size_t part = part_of(index);
    if (part != kNoPart) return function_of(part).inputs;
    std::vector<Index> out;
    for (const NodeId read : reads(graph_[index].node)) {
      out.push_back(graph_.indexed().index_of(read));
    }
    return out;
  }

  const SubGraphFunction& function_of(std::size_t part) {
    const auto found = functions_.find(part);
    if (found != functions_.end()) return found->second;
    const NestedSubGraph& nested = sub_graph_.nested()[part];
    Extractor extractor(graph_, nested.sub_graph, members_of(nested.sub_graph));
    return functions_.emplace(part, extractor.run(nested.attrs)).first->second;
  }

  void make(Index root) {
    struct Step {
      Index index;
      std::vector<Index> needs;
      std::size_t next = 0;
    };
    std::vector<Step> stack;
    const auto enter = [&](Index index) {
      if (!value_.contains(index)) stack.push_back({index, needs(index)});
    };
    enter(root);
    while (!stack.empty()) {
      if (stack.back().next < stack.back().needs.size()) {
        enter(stack.back().needs[stack.back().next++]);
        continue;
      }
      const Index index = stack.back().index;
      stack.pop_back();
      if (!value_.contains(index)) make_node(index);
    }
  }

  void make_node(Index index) {
    const std::size_t part = part_of(index);
    if (part != kNoPart) return make_part(part);
    const NodeId id = graph_[index].node;
    for (const NodeId read : reads(id)) {
      copier_.set(read, value_.at(graph_.indexed().index_of(read)));
    }
    std::vector<NodeId> nodes;
    for (const relay::RegionId region : relay::regions_of(f_, id)) {
      const auto within = relay::nodes_within(f_, region);
      nodes.insert(nodes.end(), within.begin(), within.end());
    }
    nodes.push_back(id);
    copier_.run(f_[id].region, nodes);
    value_[index] = copier_.map(id);
  }

  void make_part(std::size_t part) {
    const SubGraphFunction& function = function_of(part);
    std::vector<NodeId> arguments;
    for (const Index input : function.inputs) arguments.push_back(value_.at(input));
    const std::vector<NodeId> values = call_sub_graph(builder_, graph_, function, arguments);
    for (std::size_t i = 0; i < values.size(); ++i) value_[function.outputs[i]] = values[i];
  }

  void finish(relay::Attrs attrs) {
    std::vector<NodeId> results;
    std::vector<Type> types;
    std::vector<Location> places;
    for (const Index output : out_.outputs) {
      results.push_back(value_.at(output));
      types.push_back(f_.type(graph_[output].node));
    }
    for (const Index index : sub_graph_.inside()) {
      places.push_back(f_[graph_[index].node].location);
    }
    out_.function = relay::finish_extracted(builder_, results, std::move(types), std::move(attrs),
                                            std::move(places));
  }

  const DataflowGraph& graph_;
  const Function& f_;
  const SubGraph& sub_graph_;
  const std::vector<Index> members_;
  FunctionBuilder builder_;
  Copier copier_;
  std::unordered_map<Index, std::size_t> part_of_;               // nested sub-graphs by node
  std::unordered_map<std::size_t, SubGraphFunction> functions_;  // by nested sub-graph
  std::unordered_map<Index, NodeId> value_;                      // new nodes; none is iterated
  SubGraphFunction out_;
};

}  // namespace

SubGraphFunction extract(const DataflowGraph& graph, const SubGraph& sub_graph,
                         relay::Attrs attrs) {
  return Extractor(graph, sub_graph, members(sub_graph)).run(std::move(attrs));
}

bool can_extract(const DataflowGraph& graph, const SubGraph& sub_graph) {
  const Function& f = graph.function();
  return std::all_of(sub_graph.inside().begin(), sub_graph.inside().end(), [&](Index index) {
    if (graph[index].kind != IndexedKind::kNode) return false;
    // The branches of an `if` are one block, but no place is in both.
    if (f[graph[index].node].region != f[graph[sub_graph.first()].node].region) return false;
    const relay::NodeKind kind = f[graph[index].node].kind();
    return kind != relay::NodeKind::kParam && kind != relay::NodeKind::kLet &&
           kind != relay::NodeKind::kLiteral;
  });
}

}  // namespace tessera::collage
