// SPDX-License-Identifier: Apache-2.0
#include "collage/search.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "collage/covered.h"
#include "relay/patterns/matcher.h"

namespace tessera::collage {
namespace {

class Search {
 public:
  Search(const DataflowGraph& graph, std::span<const Candidate> candidates)
      : graph_(graph), candidates_(graph.size(), candidates) {}

  Result<Plan> run() {
    reach(Covered{}, 0, kNone, 0);
    while (!queue_.empty()) {
      const auto [cost, state] = queue_.top();
      queue_.pop();
      if (states_[state].done) continue;
      states_[state].done = true;
      if (states_[state].covered->next == graph_.size()) return plan_of(state);
      if (!expand(state)) return fail(uncovered(graph_, states_[state].covered->next));
    }
    return fail(uncovered(graph_, 0));
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct State {
    const Covered* covered = nullptr;  // the key of numbers_
    double cost = 0;
    std::size_t predecessor = kNone, candidate = 0;
    bool done = false;
  };
  struct Queued {
    double cost;
    std::size_t state;
  };
  struct Later {
    const Search* search;
    bool operator()(const Queued& a, const Queued& b) const {
      if (a.cost != b.cost) return a.cost > b.cost;
      return is_less(*search->states_[b.state].covered, *search->states_[a.state].covered);
    }
  };

  void reach(Covered covered, double cost, std::size_t predecessor, std::size_t candidate) {
    const auto [entry, is_new] = numbers_.try_emplace(std::move(covered), states_.size());
    if (is_new) states_.push_back({&entry->first});
    State& state = states_[entry->second];
    if (!is_new && !(cost < state.cost)) return;
    state.cost = cost;
    state.predecessor = predecessor;
    state.candidate = candidate;
    queue_.push({cost, entry->second});
  }

  bool expand(std::size_t from) {
    const Covered& covered = *states_[from].covered;
    const double cost = states_[from].cost;
    return candidates_.extend(covered, [&](std::size_t c, Covered next, double seconds) {
      reach(std::move(next), cost + seconds, from, c);
    });
  }

  Plan plan_of(std::size_t end) const {
    Plan plan{{}, Cost::of(states_[end].cost)};
    for (std::size_t s = end; states_[s].predecessor != kNone; s = states_[s].predecessor) {
      plan.chosen.push_back(states_[s].candidate);
    }
    std::reverse(plan.chosen.begin(), plan.chosen.end());
    return plan;
  }

  const DataflowGraph& graph_;
  CandidatesByFirst candidates_;
  std::unordered_map<Covered, std::size_t, CoveredHash> numbers_;  // never iterated
  std::vector<State> states_;
  std::priority_queue<Queued, std::vector<Queued>, Later> queue_{Later{this}};
};

}  // namespace

Diagnostic uncovered(const DataflowGraph& graph, Index index) {
  const relay::IndexedNode& node = graph[index];
  const Location place =
      node.node ? graph.function()[node.node].location : graph.function().location;
  return error(Code::kNotSupported, place,
               "no candidate was found covering the sub-expression at index {}, {}: none of the "
               "targets runs it",
               index, relay::expr_facts::describe(graph.indexed(), index))
      .with_remedy(
          "add a back end whose patterns take it; an opaque operator is no candidate of a "
          "machine");
}

Result<Plan> search(const DataflowGraph& graph, std::span<const Candidate> candidates) {
  return Search(graph, candidates).run();
}

}  // namespace tessera::collage
