// SPDX-License-Identifier: Apache-2.0
#include "byoc/composites.h"

#include <algorithm>

namespace tessera::byoc {
namespace {

using relay::Function;
using relay::Match;
using relay::NodeId;

class Claimer {
 public:
  Claimer(const Function& f, const ConstantPool& pool, std::span<const BackendChoice> choices,
          const Vetoes& vetoes)
      : f_(f), pool_(pool), choices_(choices), vetoes_(vetoes), uses_(f), graph_(f) {
    out_.of_node.assign(f.num_nodes(), -1);
  }

  Claims run() {
    for (std::size_t c = 0; c < choices_.size(); ++c) {
      for (const CompositePattern& pattern : choices_[c].backend->patterns(choices_[c].target)) {
        relay::Matcher matcher(graph_, pattern.pattern, &pool_);
        for (std::size_t i = f_.num_nodes(); i-- > 0;) try_claim(c, pattern, matcher, NodeId{i});
      }
    }
    sort_by_root();
    drop_settled_refusals();
    return std::move(out_);
  }

 private:
  void try_claim(std::size_t choice, const CompositePattern& pattern, relay::Matcher& matcher,
                 NodeId root) {
    if (f_.op(root) == nullptr || is_claimed(root) || f_[root].region != Function::kBody) return;
    const std::uint32_t index = graph_.index_of(root);
    if (index == relay::IndexedGraph::kNone || !matcher.match(index)) return;
    relay::PatternGroup group = relay::form_group(matcher, 0);
    if (group.reads_own_part || !is_closed(group.match)) return;
    if (const auto veto = vetoes_.find({root, choice}); veto != vetoes_.end()) {
      out_.refused.push_back({root, choice, pattern.name, veto->second});
      return;
    }
    const auto why =
        pattern.check ? pattern.check(group.match, choices_[choice].target) : std::nullopt;
    if (why) {
      out_.refused.push_back({root, choice, pattern.name, why->reason});
      return;
    }
    for (const NodeId id : group.match.inside) {
      if (f_.as<relay::Constant>(id) == nullptr) {
        out_.of_node[id.index()] = static_cast<std::int32_t>(out_.claims.size());
      }
    }
    Function composite = relay::make_function(graph_, group, {{"Composite", pattern.name}});
    out_.claims.push_back({choice, pattern.name, std::move(group.match), std::move(composite)});
  }

  bool is_claimed(NodeId id) const { return out_.of_node[id.index()] >= 0; }

  // Unclaimed, in the function's own body, and read by nobody outside but at the root.
  bool is_closed(const Match& match) const {
    const auto inside = [&](NodeId id) {
      return std::binary_search(match.inside.begin(), match.inside.end(), id);
    };
    for (const NodeId id : match.inside) {
      if (f_.as<relay::Constant>(id) != nullptr) continue;
      if (is_claimed(id) || f_[id].region != Function::kBody) return false;
      if (id == match.root) continue;
      if (uses_.is_result(id)) return false;
      const auto users = uses_.of(id);
      if (!std::all_of(users.begin(), users.end(), inside)) return false;
    }
    return true;
  }

  void sort_by_root() {
    std::sort(out_.claims.begin(), out_.claims.end(),
              [](const Claim& a, const Claim& b) { return a.match.root < b.match.root; });
    for (std::size_t c = 0; c < out_.claims.size(); ++c) {
      for (const NodeId id : out_.claims[c].match.inside) {
        if (f_.as<relay::Constant>(id) == nullptr) {
          out_.of_node[id.index()] = static_cast<std::int32_t>(c);
        }
      }
    }
  }

  // A refusal counts where no back end of the same or a better rank took the node after all.
  void drop_settled_refusals() {
    std::erase_if(out_.refused, [&](const RefusedNode& r) {
      const std::int32_t claim = out_.of_node[r.node.index()];
      return claim >= 0 && out_.claims[static_cast<std::size_t>(claim)].choice <= r.choice;
    });
  }

  const Function& f_;
  const ConstantPool& pool_;
  std::span<const BackendChoice> choices_;
  const Vetoes& vetoes_;
  relay::Uses uses_;
  relay::IndexedGraph graph_;
  Claims out_;
};

}  // namespace

Claims claim_composites(const Function& f, const ConstantPool& pool,
                        std::span<const BackendChoice> choices, const Vetoes& vetoes) {
  return Claimer(f, pool, choices, vetoes).run();
}

}  // namespace tessera::byoc
