// SPDX-License-Identifier: Apache-2.0
#include "attention/around.h"

#include <algorithm>
#include <set>

#include "attention/nodes.h"
#include "relay/operator.h"
#include "relay/patterns/refuse.h"
#include "relay/rewrite.h"

namespace tessera::attention {
namespace {

using relay::Function;
using relay::Match;
using relay::NodeId;
using relay::Refusal;

// Far enough for what exporters write between a product and its softmax.
constexpr std::size_t kMost = 24;

class Finder {
 public:
  explicit Finder(const Match& softmax)
      : f_(*softmax.function),
        shell_{softmax.function, softmax.pool, softmax.root, {}, {}, {}},
        nodes_(shell_),
        softmax_(softmax.root) {}

  std::optional<Match> run() {
    if (!find_scores() || !find_values()) return std::nullopt;
    for (const NodeId x : f_.operands(scores_)) take_heads(x);
    Match match;
    match.function = shell_.function;
    match.pool = shell_.pool;
    match.root = values_;
    for (const NodeId id : std::vector(inside_.begin(), inside_.end())) {
      for (const NodeId x : f_.operands(id)) {
        if (nodes_.constant(x) != nullptr) inside_.insert(x);
      }
    }
    match.inside.assign(inside_.begin(), inside_.end());
    return match;
  }

 private:
  // Element by element, or the same elements otherwise.
  bool is_between(NodeId id) const {
    return f_.op(id) != nullptr && f_.op(id)->pattern <= relay::OpPattern::kInjective;
  }
  bool multiplies_computed(NodeId id) const {
    const auto is_computed = [&](NodeId x) { return nodes_.constant(x) == nullptr; };
    const auto operands = f_.operands(id);
    return nodes_.is_product(id) && std::all_of(operands.begin(), operands.end(), is_computed);
  }

  // Back from the softmax, the nearest product; and all that stands on ways between the two.
  bool find_scores() {
    std::vector<NodeId> queue(1, softmax_);
    std::set<NodeId> seen = {softmax_};
    bool found = false;
    for (std::size_t i = 0; i < queue.size() && i < kMost && !found; ++i) {
      for (const NodeId x : f_.operands(queue[i])) {
        if (!found && multiplies_computed(x)) {
          found = true;
          scores_ = x;
        }
        if (is_between(x) && seen.insert(x).second) queue.push_back(x);
      }
    }
    seen.insert(scores_);
    if (found) take_ways(seen, scores_);
    return found;
  }

  // Forward from it to a product that the probabilities are an operand of.
  bool find_values() {
    const relay::Uses uses(f_);
    std::vector<NodeId> queue(1, softmax_);
    std::set<NodeId> seen = {softmax_};
    for (std::size_t i = 0; i < queue.size() && i < kMost; ++i) {
      for (const NodeId user : uses.of(queue[i])) {
        if (multiplies_computed(user)) {
          values_ = user;
          seen.insert(user);
          take_ways(seen, softmax_);
          return true;
        }
        if (is_between(user) && seen.insert(user).second) queue.push_back(user);
      }
    }
    return false;
  }

  // Those of `nodes` that read `first`, directly or not. Nodes are in order of evaluation.
  void take_ways(const std::set<NodeId>& nodes, NodeId first) {
    std::set<NodeId> reached = {first};
    for (const NodeId id : nodes) {
      const auto operands = f_.operands(id);
      if (std::any_of(operands.begin(), operands.end(),
                      [&](NodeId x) { return reached.contains(x); })) {
        reached.insert(id);
      }
    }
    inside_.insert(reached.begin(), reached.end());
  }

  void take_heads(NodeId id) {
    double factor = 1;
    while (!inside_.contains(id)) {
      const bool is_view = nodes_.is(id, "reshape") || nodes_.is(id, "transpose");
      const bool is_scale = nodes_.is(id, "multiply") || nodes_.is(id, "divide");
      const auto scaled = is_scale ? nodes_.scaled(id, factor) : relay::refuse("no scale");
      if (!is_view && !scaled) return;
      inside_.insert(id);
      id = is_view ? f_.operands(id)[0] : *scaled;
    }
  }

  const Function& f_;
  const Match shell_;  // nothing is inside: all of the function can be asked about
  const Nodes nodes_;
  NodeId softmax_, scores_, values_;
  std::set<NodeId> inside_;
};

}  // namespace

std::optional<Match> around(const Match& softmax) { return Finder(softmax).run(); }

Refusal why_unmatched(const Match& attention) {
  const Function& f = *attention.function;
  const relay::Uses uses(f);
  for (const NodeId id : attention.inside) {
    if (f.op(id) == nullptr || id == attention.root) continue;
    const auto users = uses.of(id);
    const bool is_read = !std::all_of(users.begin(), users.end(), [&](NodeId user) {
      return std::binary_search(attention.inside.begin(), attention.inside.end(), user);
    });
    if (is_read || uses.is_result(id)) {
      return Refusal{
          fmt::format("a `{}` inside the attention is read elsewhere, too", f.op(id)->name)};
    }
  }
  return Refusal{
      "no pattern of attention fits: its scale, mask and reshapes stand in another order, or "
      "another back end has a part of it"};
}

}  // namespace tessera::attention
