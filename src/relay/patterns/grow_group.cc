// SPDX-License-Identifier: Apache-2.0
// Groups that are larger than their patterns. A value that all ways from a root lead to is a
// post-dominator: between the two, nothing is read from outside and nothing outside depends on the
// root, so that each of them is a place where a group may end.
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "relay/operator.h"
#include "relay/patterns/pattern_groups.h"

namespace tessera::relay {

using expr_facts::as;

namespace {

class Grower {
 public:
  Grower(const IndexedGraph& graph, const PatternGroup& group, std::size_t most,
         const std::function<bool(NodeId)>& is_free)
      : graph_(graph),
        f_(graph.function()),
        group_(group),
        most_(most),
        is_free_(is_free),
        known_(group.inside.begin(), group.inside.end()) {
    known_.insert(group.inputs.begin(), group.inputs.end());
  }

  std::vector<PatternGroup> run() {
    std::vector<PatternGroup> grown;
    while (advance()) grown.push_back(group_);
    return grown;
  }

 private:
  // To the next place where the group may end.
  bool advance() {
    const std::uint32_t end = graph_[group_.root].dominator;
    if (end == IndexedGraph::kNone || !may_take(end)) return false;
    std::vector<std::uint32_t> taken{end};
    std::unordered_set<std::uint32_t> seen{end};  // never iterated
    // `taken` grows while it is walked over; users of the end come after it.
    add_users(group_.root, taken, seen);
    for (std::size_t i = 1; i < taken.size(); ++i) {
      if (count_ + taken.size() > most_ || !may_take(taken[i])) return false;
      add_users(taken[i], taken, seen);
    }
    if (count_ + taken.size() > most_) return false;
    count_ += taken.size();
    std::sort(taken.begin(), taken.end());  // operands have lower indices than those who read them
    for (const std::uint32_t e : taken) take(e);
    group_.root = end;
    group_.match.root = graph_[end].node;
    auto& inside = group_.match.inside;
    std::sort(inside.begin(), inside.end());
    inside.erase(std::unique(inside.begin(), inside.end()), inside.end());
    return true;
  }

  void add_users(std::uint32_t e, std::vector<std::uint32_t>& taken,
                 std::unordered_set<std::uint32_t>& seen) const {
    for (const std::uint32_t user : graph_[e].outputs) {
      if (seen.insert(user).second) taken.push_back(user);
    }
  }

  bool may_take(std::uint32_t e) const {
    const auto* call = as<OpCall>(graph_, e);
    if (call == nullptr) return false;
    const NodeId id = graph_[e].node, root = group_.match.root;
    const bool is_by_element =
        call->op->pattern == OpPattern::kElemWise || call->op->pattern == OpPattern::kBroadcast;
    if (!is_by_element || call->op->has_effect || f_[id].region != f_[root].region) return false;
    const Type &type = f_.type(id), &before = f_.type(root);
    return type && type.is_tensor() && before.is_tensor() && type.shape() == before.shape() &&
           is_free_(id);
  }

  void take(std::uint32_t e) {
    const auto& inputs = graph_[e].inputs;
    const NodeId id = graph_[e].node;
    for (std::size_t i = 1; i < inputs.size(); ++i) {  // the first is the operator
      if (is_number(inputs[i])) {
        add_inside(inputs[i]);
        const NodeId operand = f_.operands(id)[i - 1];  // one of the constant's nodes
        if (operand != graph_[inputs[i]].node) group_.match.inside.push_back(operand);
      } else if (known_.insert(inputs[i]).second) {
        group_.inputs.push_back(inputs[i]);
        group_.match.inputs.push_back(graph_[inputs[i]].node);
      }
    }
    add_inside(e);
    group_.name += fmt::format("{}_", as<OpCall>(graph_, e)->op->name);
  }

  void add_inside(std::uint32_t e) {
    if (!known_.insert(e).second) return;
    group_.inside.push_back(e);
    group_.match.inside.push_back(graph_[e].node);
  }

  // A constant of one element that is no input yet.
  bool is_number(std::uint32_t e) const {
    if (as<Constant>(graph_, e) == nullptr) return false;
    if (std::find(group_.inputs.begin(), group_.inputs.end(), e) != group_.inputs.end()) {
      return false;
    }
    const auto elements = num_elements(expr_facts::type(graph_, e, group_.match.pool).shape());
    return elements == Dim(1);
  }

  const IndexedGraph& graph_;
  const Function& f_;
  PatternGroup group_;
  std::size_t most_, count_ = 0;
  const std::function<bool(NodeId)>& is_free_;
  std::unordered_set<std::uint32_t> known_;  // never iterated; what the group is made of and reads
};

}  // namespace

std::vector<PatternGroup> grown_groups(const IndexedGraph& graph, const PatternGroup& group,
                                       std::size_t most,
                                       const std::function<bool(NodeId)>& is_free) {
  return Grower(graph, group, most, is_free).run();
}

}  // namespace tessera::relay
