// SPDX-License-Identifier: Apache-2.0
// Groups of a pattern as functions, and the function that calls them.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "relay/patterns/pattern_groups.h"
#include "relay/rewrite.h"

namespace tessera::relay {

namespace {

// Constants and references to globals are one expression however many nodes there are.
bool has_many_nodes(const Function& f, NodeId id) {
  return f.as<Constant>(id) != nullptr || f.as<GlobalRef>(id) != nullptr;
}

class FunctionMaker {
 public:
  FunctionMaker(const IndexedGraph& graph, const PatternGroup& group)
      : graph_(graph), f_(graph.function()), group_(group), copier_(f_, builder_, false) {}

  Function run(Attrs attrs) {
    declare_params();
    collect_nodes();
    for (auto& [region, nodes] : nodes_) {
      std::sort(nodes.begin(), nodes.end());
      copier_.run(region, nodes);
    }
    const NodeId root = graph_[group_.root].node;
    Attrs all;
    all.set("PartitionedFromPattern", group_.name);
    for (const auto& [name, value] : attrs) all.set(name, value);
    Function out = builder_.finish(copier_.map(root), std::move(all), f_.type(root));
    out.location = f_[root].location;
    return out;
  }

 private:
  void declare_params() {
    for (std::size_t k = 0; k < group_.inputs.size(); ++k) {
      const NodeId input = graph_[group_.inputs[k]].node;
      const Type type = expr_facts::type(graph_, group_.inputs[k], group_.match.pool);
      builder_.at(f_[input].location);
      const NodeId param = builder_.param(fmt::format("FunctionVar_{}_{}", group_.number, k), type);
      builder_.set_type(param, type);
      params_.emplace(group_.inputs[k], param);
      copier_.set(input, param);
    }
  }

  // The nodes to copy, by the region in which they lie: that of the root, or one around it. Regions
  // further out come first. What has many nodes is represented by the first, which may lie where
  // the group does not see it: those that the group reads are copied.
  void collect_nodes() {
    const RegionId home = f_[graph_[group_.root].node].region;
    for (const std::uint32_t e : group_.inside) {
      if (graph_[e].kind != IndexedKind::kNode) continue;
      const NodeId id = graph_[e].node;
      if (has_many_nodes(f_, id) && e != group_.root) continue;
      add(id, home);
      for (const NodeId operand : f_.operands(id)) add_operand(operand, home);
      for (const RegionId region : regions_of(f_, id)) {
        add_operand(f_.region(region).result, home);
        for (const NodeId param : f_.region(region).params) add(param, home);
      }
    }
  }

  void add_operand(NodeId operand, RegionId home) {
    const auto param = params_.find(graph_.index_of(operand));
    if (param != params_.end()) {
      copier_.set(operand, param->second);
    } else if (has_many_nodes(f_, operand)) {
      add(operand, home);
    }
  }

  void add(NodeId id, RegionId home) {
    if (!known_.insert(id.index()).second) return;
    RegionId region = f_[id].region;
    // What lies deeper than the root's region is inside a literal or `if` of the group.
    while (!is_within(f_, home, region)) region = f_.region(region).parent;
    nodes_[region].push_back(id);
  }

  const IndexedGraph& graph_;
  const Function& f_;
  const PatternGroup& group_;
  FunctionBuilder builder_;
  Copier copier_;
  std::unordered_map<std::uint32_t, NodeId> params_;  // by expression
  std::map<RegionId, std::vector<NodeId>> nodes_;
  std::unordered_set<std::uint32_t> known_;
};

class Partitioner {
 public:
  Partitioner(const IndexedGraph& graph, std::span<const PatternGroup> groups, const Attrs& attrs)
      : graph_(graph), f_(graph.function()), attrs_(attrs) {
    for (const PatternGroup& group : groups) {
      by_root_.emplace(graph[group.root].node.index(), &group);
      find_dissolved(group);
    }
  }

  Function run() {
    const auto replace = [this](Copier& c, NodeId id) -> std::optional<NodeId> {
      const auto group = by_root_.find(id.index());
      if (group != by_root_.end()) return call(c, *group->second);
      const auto* branch = f_.as<If>(id);
      const bool hollow = branch != nullptr && dissolved_.contains(branch->then_region.index());
      return hollow ? std::optional(branch_between(c, id, *branch)) : std::nullopt;
    };
    if (dissolved_.empty()) return rewrite(f_, replace);
    return rewrite(f_, replace, [this](Copier&, RegionId region) {
      return dissolved_.contains(region.index());
    });
  }

 private:
  // An input that is computed in a branch of an `if` inside the group is computed before the
  // call instead: expressions have no effects.
  void find_dissolved(const PatternGroup& group) {
    const RegionId home = f_[graph_[group.root].node].region;
    for (const std::uint32_t e : group.inputs) {
      for (RegionId r = f_[graph_[e].node].region; !is_within(f_, home, r);
           r = f_.region(r).parent) {
        dissolved_.insert(r.index());
        const auto* branch = f_.as<If>(f_.region(r).owner);
        if (branch == nullptr) continue;
        dissolved_.insert(branch->then_region.index());
        dissolved_.insert(branch->else_region.index());
      }
    }
  }

  // The `if` between values that are computed before it.
  NodeId branch_between(Copier& c, NodeId id, const If& branch) {
    const RegionId then_region = c.builder().begin_region();
    c.builder().end_region(c.map(f_.region(branch.then_region).result));
    const RegionId else_region = c.builder().begin_region();
    c.builder().end_region(c.map(f_.region(branch.else_region).result));
    const NodeId out = c.builder().if_(c.operands(id)[0], then_region, else_region);
    c.builder().set_type(out, f_.type(id));
    return out;
  }

  NodeId call(Copier& c, const PatternGroup& group) {
    const NodeId root = graph_[group.root].node;
    std::vector<NodeId> arguments;
    for (const std::uint32_t e : group.inputs) {
      const NodeId input = graph_[e].node;
      const NodeId there = c.map(input);
      const bool visible = there && is_within(f_, f_[root].region, f_[input].region);
      arguments.push_back(has_many_nodes(f_, input) && !visible ? c.builder().copy(f_, input, {})
                                                                : there);
    }
    const NodeId literal = embed(c.builder(), make_function(graph_, group, attrs_));
    c.builder().at(f_[root].location);
    const NodeId call = c.builder().call_value(literal, arguments);
    c.builder().set_type(call, f_.type(root));
    return call;
  }

  const IndexedGraph& graph_;
  const Function& f_;
  const Attrs& attrs_;
  std::unordered_map<std::uint32_t, const PatternGroup*> by_root_;
  std::unordered_set<std::uint32_t> dissolved_;  // regions
};

}  // namespace

Function make_function(const IndexedGraph& graph, const PatternGroup& group, Attrs attrs) {
  return FunctionMaker(graph, group).run(std::move(attrs));
}

Function partition(const IndexedGraph& graph, std::span<const PatternGroup> groups,
                   const Attrs& attrs) {
  return Partitioner(graph, groups, attrs).run();
}

}  // namespace tessera::relay
