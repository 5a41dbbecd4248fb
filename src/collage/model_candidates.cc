// SPDX-License-Identifier: Apache-2.0
#include "collage/model_candidates.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "byoc/disjoint_sets.h"
#include "byoc/regions.h"
#include "collage/combiners.h"
#include "collage/prune.h"
#include "collage/rules.h"
#include "passes/fusion_groups.h"

namespace tessera::collage {
namespace {

struct GreedyRegion {
  std::size_t choice = 0;  // of the back ends
  IndexSet inside;
  std::vector<IndexSet> composites;
};

// The regions of one greedy partition.
std::vector<GreedyRegion> greedy_regions(const DataflowGraph& graph,
                                         std::span<const byoc::BackendChoice> back_ends) {
  const relay::Function& f = graph.function();
  const byoc::Claims claims = byoc::claim_composites(f, graph.pool(), back_ends);
  std::vector<GreedyRegion> out;
  for (const byoc::Unit& unit : byoc::form_units(f, claims, back_ends)) {
    if (unit.choice < 0) continue;
    GreedyRegion region{static_cast<std::size_t>(unit.choice), {}, {}};
    std::vector<Index> inside;  // composites have no node in common
    for (const std::size_t claim : unit.claims) {
      std::vector<Index> members;
      for (const relay::NodeId id : claims.claims[claim].match.inside) {
        if (f.as<relay::Constant>(id) == nullptr) members.push_back(graph.indexed().index_of(id));
      }
      inside.insert(inside.end(), members.begin(), members.end());
      region.composites.emplace_back(graph.size(), std::move(members));
    }
    region.inside = IndexSet(graph.size(), std::move(inside));
    out.push_back(std::move(region));
  }
  return out;
}

// What the patterns match, as far as a function with one result can hold it.
Rule pattern_rule(const byoc::BackendChoice& choice, const ConstantPool& pool) {
  const auto table = std::make_shared<const std::vector<relay::CompositePattern>>(
      choice.backend->patterns(choice.target));
  std::vector<Rule> rules;
  for (const relay::CompositePattern& pattern : *table) {
    rules.push_back(match_pattern(pattern, &pool));
  }
  Rule all = only_valid(united(std::move(rules)), {.max_exits = 1, .allow_taps = false});
  return [table, all = std::move(all)](const DataflowGraph& graph, const PlacementSpec& spec) {
    return all(graph, spec);
  };
}

// Two neighbouring composites as one region, which may keep its own layouts between them: what
// they cost together is not the sum. Larger unions multiply where branches meet; of these there are
// the regions of greedy partitions.
std::vector<Candidate> neighbouring_pairs(const DataflowGraph& graph,
                                          const byoc::BackendChoice& choice,
                                          const std::vector<Candidate>& composites) {
  if (choice.backend->fusion_style() != byoc::FusionStyle::kAnyConvex) return {};
  CandidateSet all(composites, composites.size() * composites.size());
  for (const Combiner& combine : combiners_of(choice.backend->combining())) {
    combine({graph, all, 0});
  }
  all.next_round();
  std::vector<Candidate> pairs = std::move(all).take();
  pairs.erase(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(composites.size()));
  std::erase_if(pairs, [&](const Candidate& pair) {
    return !pair.sub_graph.is_valid(graph, {.max_exits = 1, .allow_taps = false});
  });
  return pairs;
}

// Native groups: those of fuse-ops, and what candidates of back ends leave of them.
class NativeGroups {
 public:
  NativeGroups(const DataflowGraph& graph, bool norms)
      : graph_(graph), group_of_(graph.size(), kNone) {
    const auto groups = passes::find_fusion_groups(graph.function(), passes::kFusedCalls, norms);
    for (const passes::FusionGroup& group : groups.all()) {
      std::vector<Index> members;
      for (const relay::NodeId id : group.nodes) {
        const Index index = graph.indexed().index_of(id);
        if (index != relay::IndexedGraph::kNone) members.push_back(index);
      }
      if (members.empty()) continue;
      for (const Index index : members) group_of_[index] = groups_.size();
      groups_.emplace_back(graph.size(), std::move(members));
    }
    whole_ = groups_.size();
    for (const IndexSet& group : groups_) known_.insert(key(group));
  }

  void split_by(const IndexSet& taken) {
    std::set<std::size_t> met;
    for (const Index index : taken) {
      if (group_of_[index] != kNone) met.insert(group_of_[index]);
    }
    for (const std::size_t g : met) {
      for (IndexSet& rest : connected_parts(groups_[g] - taken)) {
        if (!known_.insert(key(rest)).second) continue;
        if (!SubGraph(graph_, rest).is_valid(graph_, {})) continue;
        groups_.push_back(std::move(rest));
      }
    }
  }

  const std::vector<IndexSet>& all() const { return groups_; }
  std::size_t num_whole() const { return whole_; }  // that come first: of fuse-ops

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static std::vector<Index> key(const IndexSet& set) { return {set.begin(), set.end()}; }

  // In the order of their first nodes.
  std::vector<IndexSet> connected_parts(const IndexSet& set) const {
    const std::span<const Index> nodes = set.members();
    byoc::DisjointSets joined(nodes.size());
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      for (const Index input : graph_[nodes[i]].inputs) {
        const auto at = std::lower_bound(nodes.begin(), nodes.end(), input);
        if (at == nodes.end() || *at != input) continue;
        joined.join(i, static_cast<std::uint32_t>(at - nodes.begin()));
      }
    }
    std::map<std::uint32_t, std::size_t> part_of;  // by what stands for a set
    std::vector<IndexSet> parts;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      const auto [part, is_new] = part_of.try_emplace(joined.find(i), parts.size());
      if (is_new) parts.emplace_back(graph_.size());
      parts[part->second].add(nodes[i]);
    }
    return parts;
  }

  const DataflowGraph& graph_;
  std::vector<IndexSet> groups_;
  std::vector<std::size_t> group_of_;
  std::size_t whole_ = 0;
  std::set<std::vector<Index>> known_;
};

void add_native(const DataflowGraph& graph, const PlacementSpec& spec, bool norms,
                ModelCandidates& out) {
  NativeGroups groups(graph, norms);
  const std::size_t of_back_ends = out.list.size();
  for (std::size_t i = 0; i < of_back_ends; ++i) groups.split_by(out.list[i].sub_graph.inside());
  const auto add = [&](const IndexSet& inside, std::size_t costs_as) {
    out.list.push_back({std::string(kNative), SubGraph(graph, inside), &spec});
    out.costs_as.push_back(costs_as);
  };
  for (std::size_t g = 0; g < groups.all().size(); ++g) {
    const IndexSet& group = groups.all()[g];
    const std::size_t at = out.list.size();
    add(group, at);
    if (g >= groups.num_whole() || group.count() == 1) continue;
    for (const Index index : group) add(IndexSet(graph.size(), {index}), at);
  }
}

}  // namespace

Specs model_specs(std::span<const byoc::BackendChoice> back_ends, const Target& machine,
                  const ConstantPool& pool) {
  Specs specs;
  for (const byoc::BackendChoice& choice : back_ends) {
    add_spec(specs, std::string(choice.backend->name()), choice.target, pattern_rule(choice, pool));
  }
  add_spec(specs, std::string(kNative), machine, {});
  add_spec(specs, "host", machine, host_nodes());
  return specs;
}

Result<ModelCandidates> model_candidates(const DataflowGraph& graph, const Specs& specs,
                                         std::span<const byoc::BackendChoice> back_ends,
                                         bool norms) {
  ModelCandidates out;
  std::map<std::pair<std::size_t, std::vector<Index>>, std::size_t> known;
  const auto add = [&](Candidate candidate) {
    const IndexSet& inside = candidate.sub_graph.inside();
    const auto [entry, is_new] = known.try_emplace(
        {candidate.spec->priority, {inside.begin(), inside.end()}}, out.list.size());
    if (!is_new) return entry->second;
    out.costs_as.push_back(out.list.size());
    out.list.push_back(std::move(candidate));
    return entry->second;
  };
  const auto add_set = [&](std::size_t choice, const IndexSet& inside) {
    return add({"greedy", SubGraph(graph, inside), specs[choice].get()});
  };
  const auto add_region = [&](std::size_t choice, const GreedyRegion& greedy) {
    ModelCandidates::Region region{add_set(choice, greedy.inside), {}};
    out.greedy.back().push_back(region.whole);
    if (greedy.composites.size() == 1 || back_ends[choice].backend->takes_whole_graphs()) return;
    for (const IndexSet& part : greedy.composites) region.parts.push_back(add_set(choice, part));
    out.regions.push_back(std::move(region));
  };
  for (std::size_t b = 0; b < back_ends.size(); ++b) {
    if (!back_ends[b].backend->takes_whole_graphs()) {
      TESSERA_TRY(std::vector<Candidate> matched, specs[b]->rule(graph, *specs[b]));
      const std::vector<Candidate> composites = prune(graph, std::move(matched));
      for (const Candidate& candidate : composites) add(candidate);
      for (Candidate& pair : neighbouring_pairs(graph, back_ends[b], composites)) {
        add(std::move(pair));
      }
    }
    out.greedy.emplace_back();
    for (const GreedyRegion& region : greedy_regions(graph, back_ends.subspan(b, 1))) {
      add_region(b, region);
    }
  }
  out.greedy.emplace_back();
  for (const GreedyRegion& region : greedy_regions(graph, back_ends)) {
    add_region(region.choice, region);
  }
  const std::size_t native = back_ends.size();
  add_native(graph, *specs[native], norms, out);
  TESSERA_TRY(std::vector<Candidate> host, specs[native + 1]->rule(graph, *specs[native + 1]));
  for (Candidate& candidate : host) add(std::move(candidate));
  return out;
}

}  // namespace tessera::collage
