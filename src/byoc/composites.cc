// SPDX-License-Identifier: Apache-2.0
#include "byoc/composites.h"

#include <algorithm>
#include <set>

#include "relay/patterns/root_operators.h"

namespace tessera::byoc {
namespace {

using relay::Function;
using relay::Match;
using relay::NodeId;

class Claimer {
 public:
  Claimer(const Function& f, const ConstantPool& pool, std::span<const BackendChoice> choices,
          const Vetoes& vetoes, const Assignment* assignment)
      : f_(f),
        pool_(pool),
        choices_(choices),
        vetoes_(vetoes),
        assignment_(assignment),
        uses_(f),
        graph_(f) {
    out_.of_node.assign(f.num_nodes(), -1);
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      if (const relay::Operator* op = f.op(NodeId(i))) operators_.insert(op->name);
    }
  }

  Claims run() {
    for (std::size_t c = 0; c < choices_.size(); ++c) {
      const auto patterns = choices_[c].backend->patterns(choices_[c].target);
      growing_.clear();
      for (const CompositePattern& pattern : patterns) {
        if (!has_root_of(pattern.pattern)) continue;
        relay::Matcher matcher(graph_, pattern.pattern, &pool_);
        for (std::size_t i = f_.num_nodes(); i-- > 0;) try_claim(c, pattern, matcher, NodeId{i});
      }
      for (const Growing& claim : growing_) grow(claim);
    }
    sort_by_root();
    drop_settled_refusals();
    return std::move(out_);
  }

 private:
  // A claim that may take more, when all patterns have claimed what is theirs.
  struct Growing {
    std::size_t claim;
    const CompositePattern* pattern;
    relay::PatternGroup group;
  };

  bool has_root_of(const relay::Pattern& pattern) const {
    const auto roots = relay::root_operators(pattern);
    return !roots || std::any_of(roots->begin(), roots->end(),
                                 [&](std::string_view op) { return operators_.contains(op); });
  }

  void try_claim(std::size_t choice, const CompositePattern& pattern, relay::Matcher& matcher,
                 NodeId root) {
    const bool computes = f_.op(root) != nullptr || f_.as<relay::Project>(root) != nullptr;
    if (!computes || !is_free(root, choice) || f_[root].region != Function::kBody) return;
    const std::uint32_t index = graph_.index_of(root);
    if (index == relay::IndexedGraph::kNone || !matcher.match(index)) return;
    relay::PatternGroup group = relay::form_group(matcher, 0);
    if (group.reads_own_part || !is_closed(group.match, choice)) return;
    if (const auto veto = vetoes_.find({root, choice}); veto != vetoes_.end()) {
      refuse({root, choice, pattern.name, veto->second, std::move(group.match.inside)});
      return;
    }
    if (const auto why = refusal(pattern, group.match, choice)) {
      refuse({root, choice, pattern.name, why->reason, std::move(group.match.inside)});
      return;
    }
    out_.claims.push_back({choice, {}, {}, {}});
    set_claim(out_.claims.size() - 1, pattern.name, group);
    if (!pattern.grown_name.empty()) {
      growing_.push_back({out_.claims.size() - 1, &pattern, std::move(group)});
    }
  }

  std::optional<Refusal> refusal(const CompositePattern& pattern, const Match& match,
                                 std::size_t choice) const {
    return pattern.check ? pattern.check(match, choices_[choice].target) : std::nullopt;
  }

  void set_claim(std::size_t at, const std::string& name, const relay::PatternGroup& group) {
    for (const NodeId id : group.match.inside) {
      if (f_.as<relay::Constant>(id) == nullptr) {
        out_.of_node[id.index()] = static_cast<std::int32_t>(at);
      }
    }
    Claim& claim = out_.claims[at];
    claim.composite = name;
    claim.match = group.match;
    claim.function = relay::make_function(graph_, group, {{"Composite", name}});
  }

  // Over as much of what follows it as the back end takes.
  void grow(const Growing& growing) {
    constexpr std::size_t kMostOperators = 24;
    const std::size_t choice = out_.claims[growing.claim].choice;
    const auto groups = relay::grown_groups(graph_, growing.group, kMostOperators,
                                            [&](NodeId id) { return is_free(id, choice); });
    const auto largest =
        std::find_if(groups.rbegin(), groups.rend(), [&](const relay::PatternGroup& group) {
          return !vetoes_.contains({group.match.root, choice}) &&
                 !refusal(*growing.pattern, group.match, choice);
        });
    if (largest != groups.rend()) {
      set_claim(growing.claim, growing.pattern->grown_name, *largest);
    }
  }

  // Checks without a reason are of patterns that were not meant.
  void refuse(RefusedNode refused) {
    if (!refused.reason.empty()) out_.refused.push_back(std::move(refused));
  }

  bool is_free(NodeId id, std::size_t choice) const {
    if (out_.of_node[id.index()] >= 0) return false;
    return assignment_ == nullptr || assignment_->allows(choices_[choice].backend, id);
  }

  // Free, in the function's own body, and read by nobody outside but at the root.
  bool is_closed(const Match& match, std::size_t choice) const {
    const auto inside = [&](NodeId id) {
      return std::binary_search(match.inside.begin(), match.inside.end(), id);
    };
    for (const NodeId id : match.inside) {
      if (f_.as<relay::Constant>(id) != nullptr) continue;
      if (!is_free(id, choice) || f_[id].region != Function::kBody) return false;
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

  // A refusal counts where a node is left that no back end of the same or a better rank took after
  // all: the root, else the last one.
  void drop_settled_refusals() {
    std::erase_if(out_.refused, [&](RefusedNode& r) {
      const auto is_left = [&](NodeId id) {
        const std::int32_t claim = out_.of_node[id.index()];
        return f_.op(id) != nullptr &&
               (claim < 0 || out_.claims[static_cast<std::size_t>(claim)].choice > r.choice);
      };
      if (is_left(r.node)) return false;
      const auto last = std::find_if(r.inside.rbegin(), r.inside.rend(), is_left);
      if (last == r.inside.rend()) return true;
      r.node = *last;
      return false;
    });
  }

  const Function& f_;
  const ConstantPool& pool_;
  std::span<const BackendChoice> choices_;
  const Vetoes& vetoes_;
  const Assignment* assignment_;
  relay::Uses uses_;
  relay::IndexedGraph graph_;
  std::set<std::string_view> operators_;  // that the function calls
  std::vector<Growing> growing_;          // of the choice that claims
  Claims out_;
};

}  // namespace

std::optional<Refusal> BackendChoice::validate(const relay::Function& region,
                                               const ConstantPool& pool) const {
  if (has_declined()) {
    if (auto why = declined->find(region, pool)) return why;
  }
  return backend->validate(region, target);
}

Claims claim_composites(const Function& f, const ConstantPool& pool,
                        std::span<const BackendChoice> choices, const Vetoes& vetoes,
                        const Assignment* assignment) {
  return Claimer(f, pool, choices, vetoes, assignment).run();
}

}  // namespace tessera::byoc
