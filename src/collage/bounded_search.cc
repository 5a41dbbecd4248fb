// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "collage/covered.h"
#include "collage/search.h"

namespace tessera::collage {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

class BoundedSearch {
 public:
  BoundedSearch(const DataflowGraph& graph, std::span<const Candidate> candidates,
                std::size_t width, const Borders* borders)
      : graph_(graph),
        candidates_(graph.size(), candidates),
        width_(width),
        borders_(borders),
        worth_(worth_of(graph, candidates)),
        levels_(graph.size() + 1) {}

  Result<BoundedPlan> run() {
    reach(Covered{}, {}, 0, {kNone, 0});
    for (Index next = 0; next < graph_.size(); ++next) {
      Level level = std::move(levels_[next]);
      levels_[next] = {};
      narrow(level);
      bool goes_on = level.states.empty();
      for (const State& state : level.states) goes_on |= expand(next, state);
      // No way leads past this node, from wherever it was reached.
      if (!goes_on && !is_reached_beyond(next)) return fail(uncovered(graph_, next));
    }
    const Level& end = levels_[graph_.size()];
    if (end.states.empty()) return fail(uncovered(graph_, 0));
    return plan_of(end.states.front());
  }

 private:
  struct Step {
    std::size_t before = kNone, candidate = 0;
  };
  struct State {
    LaterNodes beyond;
    std::vector<ValueForms> forms;
    double cost = 0;
    std::size_t step = kNone;
  };
  // All states whose first uncovered node is the same.
  struct Level {
    std::vector<State> states;  // in the order in which they were reached first
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_hash;  // never iterated
  };

  // What each covered node is worth: its share of the cheapest candidate that has it.
  static std::vector<double> worth_of(const DataflowGraph& graph,
                                      std::span<const Candidate> candidates) {
    std::vector<double> worth(graph.size(), std::numeric_limits<double>::infinity());
    for (const Candidate& candidate : candidates) {
      const IndexSet& inside = candidate.sub_graph.inside();
      const double share = candidate.cost.seconds() / static_cast<double>(inside.count());
      for (const Index index : inside) worth[index] = std::min(worth[index], share);
    }
    return worth;
  }

  double promise(const State& state) const {
    double sum = state.cost;
    for (LaterNodes::Cursor at(state.beyond); !at.is_at_end(); ++at) sum -= worth_[*at];
    return sum;
  }

  void narrow(Level& level) {
    if (level.states.size() <= width_) return;
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < level.states.size(); ++i) {
      order.emplace_back(promise(level.states[i]), i);
    }
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(width_),
                     order.end());
    order.resize(width_);
    std::sort(order.begin(), order.end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });
    dropped_ += level.states.size() - width_;
    std::vector<State> kept;
    for (const auto& [value, i] : order) kept.push_back(std::move(level.states[i]));
    level.states = std::move(kept);
  }

  static std::uint64_t hash_of(const Covered& covered, const std::vector<ValueForms>& forms) {
    std::uint64_t h = CoveredHash{}(covered);
    for (const ValueForms& v : forms) h = hash_combine(hash_combine(h, v.value), v.forms);
    return h;
  }

  void reach(Covered covered, std::vector<ValueForms> forms, double cost, Step step) {
    Level& level = levels_[covered.next];
    auto& alike = level.by_hash[hash_of(covered, forms)];
    for (const std::size_t i : alike) {
      State& state = level.states[i];
      if (!(state.beyond == covered.beyond) || state.forms != forms) continue;
      if (!(cost < state.cost)) return;
      state.cost = cost;
      steps_[state.step] = step;
      return;
    }
    alike.push_back(level.states.size());
    level.states.push_back({std::move(covered.beyond), std::move(forms), cost, steps_.size()});
    steps_.push_back(step);
  }

  bool expand(Index next, const State& state) {
    return candidates_.extend({next, state.beyond},
                              [&](std::size_t c, Covered covered, double seconds) {
                                Borders::Crossed crossed;
                                if (borders_ != nullptr) {
                                  crossed = borders_->cross(state.forms, c, covered);
                                }
                                reach(std::move(covered), std::move(crossed.forms),
                                      state.cost + seconds + crossed.seconds, {state.step, c});
                              });
  }

  bool is_reached_beyond(Index next) const {
    return std::any_of(levels_.begin() + next + 1, levels_.end(),
                       [](const Level& level) { return !level.states.empty(); });
  }

  BoundedPlan plan_of(const State& end) const {
    BoundedPlan plan;
    plan.cost = Cost::of(end.cost);
    plan.dropped = dropped_;
    for (std::size_t s = end.step; steps_[s].before != kNone; s = steps_[s].before) {
      plan.chosen.push_back(steps_[s].candidate);
    }
    std::reverse(plan.chosen.begin(), plan.chosen.end());
    return plan;
  }

  const DataflowGraph& graph_;
  CandidatesByFirst candidates_;
  std::size_t width_, dropped_ = 0;
  const Borders* borders_;
  std::vector<double> worth_;  // by node
  std::vector<Level> levels_;  // by the first uncovered node
  std::vector<Step> steps_;
};

}  // namespace

Result<BoundedPlan> bounded_search(const DataflowGraph& graph,
                                   std::span<const Candidate> candidates, std::size_t width,
                                   const Borders* borders) {
  return BoundedSearch(graph, candidates, width, borders).run();
}

}  // namespace tessera::collage
