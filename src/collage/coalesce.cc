// SPDX-License-Identifier: Apache-2.0
#include "collage/coalesce.h"

#include <algorithm>
#include <set>

namespace tessera::collage {
namespace {

// Candidates that have become one. What it is as a sub-graph is only made in the end: groups may
// have thousands of members.
struct Group {
  std::vector<Candidate> members;  // none: another group has them
  std::set<Index> output;          // what is outside and reads from it
  std::size_t last = 0;

  const Candidate& first() const { return members.front(); }
};

class Coalescer {
 public:
  Coalescer(const DataflowGraph& graph, std::vector<Candidate> candidates)
      : graph_(graph), owner_(graph.size(), kNone) {
    std::stable_sort(candidates.begin(), candidates.end());
    for (Candidate& candidate : candidates) {
      own(candidate.sub_graph, groups_.size());
      const IndexSet& output = candidate.sub_graph.output();
      Group group{{}, {output.begin(), output.end()}, candidate.sub_graph.last()};
      group.members.push_back(std::move(candidate));
      groups_.push_back(std::move(group));
    }
  }

  std::vector<Candidate> run() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (std::size_t i = 0; i < groups_.size(); ++i) changed = grow(i) || changed;
    }
    std::vector<Candidate> out;
    for (const Group& group : groups_) {
      if (!group.members.empty()) out.push_back(candidate_of(group));
    }
    std::stable_sort(out.begin(), out.end());
    return out;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  void own(const SubGraph& sub_graph, std::size_t group) {
    for (const Index index : sub_graph.inside()) owner_[index] = group;
  }

  // Takes what touches it downstream, in the order of groups, until it has passed them all.
  bool grow(std::size_t i) {
    bool grown = false;
    std::size_t from = 0;
    while (!groups_[i].members.empty()) {
      const std::size_t j = next_touching(i, from);
      if (j == kNone) break;
      take(i, j);
      from = j + 1;
      grown = true;
    }
    return grown;
  }

  void take(std::size_t i, std::size_t j) {
    Group &group = groups_[i], &other = groups_[j];
    for (Candidate& member : other.members) {
      own(member.sub_graph, i);
      for (const Index index : member.sub_graph.inside()) group.output.erase(index);
      group.members.push_back(std::move(member));
    }
    for (const Index index : other.output) {
      if (owner_[index] != i) group.output.insert(index);
    }
    group.last = std::max(group.last, other.last);
    other = {};
  }

  // What is in a branch is computed there alone.
  bool may_join(const Candidate& a, const Candidate& b) const {
    return a.spec == b.spec &&
           graph_[a.sub_graph.first()].basic_block == graph_[b.sub_graph.first()].basic_block;
  }

  // The first group from `from` on.
  std::size_t next_touching(std::size_t i, std::size_t from) const {
    std::vector<std::size_t> near;
    for (const Index index : groups_[i].output) {
      const std::size_t j = owner_[index];
      if (j == kNone || j < from) continue;
      if (may_join(groups_[i].first(), groups_[j].first())) near.push_back(j);
    }
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
    for (const std::size_t j : near) {
      if (!flows_around(i, j) && !flows_around(j, i)) return j;
    }
    return kNone;
  }

  // Does a value of one group reach the other by what is in neither?
  bool flows_around(std::size_t from, std::size_t to) const {
    std::vector<Index> outside;
    for (const Index index : groups_[from].output) {
      if (index >= groups_[to].last) break;
      if (owner_[index] != to) outside.push_back(index);
    }
    const auto members_of = [this](std::size_t group) {
      return [this, group](Index index) { return owner_[index] == group; };
    };
    return graph_.reaches(outside, {members_of(to), groups_[to].last},
                          {members_of(from), groups_[from].last});
  }

  Candidate candidate_of(const Group& group) const {
    if (group.members.size() == 1) return group.first();
    std::vector<SubGraph> parts;
    for (const Candidate& member : group.members) parts.push_back(member.sub_graph);
    return {group.first().rule, SubGraph::join(graph_, parts), group.first().spec};
  }

  const DataflowGraph& graph_;
  std::vector<std::size_t> owner_;  // by node
  std::vector<Group> groups_;
};

}  // namespace

std::vector<Candidate> coalesce(const DataflowGraph& graph, std::vector<Candidate> candidates) {
  return Coalescer(graph, std::move(candidates)).run();
}

}  // namespace tessera::collage
