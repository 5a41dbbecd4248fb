// SPDX-License-Identifier: Apache-2.0
#include "plan/order_search.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "support/hash.h"

namespace tessera::plan {
namespace {

// Copies of counters that a search may make, in numbers: some tenths of a second.
constexpr std::size_t kMostCopied = 60'000'000;
constexpr std::size_t kWidest = 24;
constexpr std::size_t kMostReady = 64;  // of which the next step of a partial order is chosen

// What is known while steps are taken one after the other.
class Partial {
 public:
  explicit Partial(const StepGraph& graph)
      : touched_(graph.memory.size(), 0), waits_for_(graph.steps.size()) {
    for (std::uint32_t i = 0; i < graph.steps.size(); ++i) {
      waits_for_[i] = static_cast<std::uint32_t>(graph.steps[i].before.size());
      if (waits_for_[i] == 0) ready_.push_back(i);
    }
    for (const StepMemory& m : graph.memory) alive_ += m.before ? m.bytes : 0;
    peak_ = alive_;
  }

  struct Outcome {
    std::int64_t peak, alive;
  };
  // If the step came next.
  Outcome after(const StepGraph& graph, std::uint32_t step) const {
    std::int64_t begun = 0, ended = 0;
    for (const std::uint32_t m : graph.steps[step].memory) {
      const StepMemory& memory = graph.memory[m];
      if (touched_[m] == 0 && !memory.before) begun += memory.bytes;
      if (touched_[m] + 1 == memory.steps && !memory.after) ended += memory.bytes;
    }
    const std::int64_t during = alive_ + begun + graph.steps[step].scratch_bytes;
    return {std::max(peak_, during), alive_ + begun - ended};
  }

  void take(const StepGraph& graph, std::uint32_t step) {
    const Outcome next = after(graph, step);
    peak_ = next.peak;
    alive_ = next.alive;
    for (const std::uint32_t m : graph.steps[step].memory) ++touched_[m];
    ready_.erase(std::find(ready_.begin(), ready_.end(), step));
    for (const std::uint32_t later : graph.steps[step].after) {
      if (--waits_for_[later] == 0) ready_.push_back(later);
    }
    order_.push_back(step);
    taken_ = taken_with(step);
  }

  // Which steps were taken if this one came next, whatever their order: a number that collides too
  // seldom to matter, as it only decides what is looked at.
  std::uint64_t taken_with(std::uint32_t step) const {
    return taken_ + hash_combine(step, 0x9e3779b97f4a7c15u);
  }

  const StepOrder& ready() const { return ready_; }
  const StepOrder& order() const { return order_; }
  std::int64_t peak() const { return peak_; }

 private:
  std::vector<std::uint32_t> touched_;    // by memory: steps so far
  std::vector<std::uint32_t> waits_for_;  // by step
  StepOrder ready_, order_;
  std::int64_t alive_ = 0, peak_ = 0;
  std::uint64_t taken_ = 0;
};

struct Extension {
  Partial::Outcome outcome;
  std::size_t of;
  std::uint32_t step;

  auto key() const { return std::tuple(outcome.peak, outcome.alive, of, step); }
};

std::vector<Extension> extensions(const StepGraph& graph, const std::vector<Partial>& partials) {
  std::vector<Extension> all;
  for (std::size_t p = 0; p < partials.size(); ++p) {
    const StepOrder& ready = partials[p].ready();
    // The latest ones continue what was begun.
    const std::size_t skipped = ready.size() - std::min(ready.size(), kMostReady);
    for (std::size_t i = skipped; i < ready.size(); ++i) {
      all.push_back({partials[p].after(graph, ready[i]), p, ready[i]});
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Extension& a, const Extension& b) { return a.key() < b.key(); });
  return all;
}

StepOrder search(const StepGraph& graph, std::size_t width) {
  std::vector<Partial> partials = {Partial(graph)};
  for (std::size_t n = 0; n < graph.steps.size(); ++n) {
    std::vector<Partial> next;
    std::set<std::uint64_t> seen;
    for (const Extension& e : extensions(graph, partials)) {
      if (!seen.insert(partials[e.of].taken_with(e.step)).second) continue;
      next.push_back(partials[e.of]);
      next.back().take(graph, e.step);
      if (next.size() == width) break;
    }
    partials = std::move(next);
  }
  return partials.front().order();
}

// No order has a lower peak: what one step touches is alive while it runs.
std::int64_t least_peak_of_steps(const StepGraph& graph) {
  std::int64_t most = 0;
  for (const Step& step : graph.steps) {
    std::int64_t bytes = step.scratch_bytes;
    for (const std::uint32_t m : step.memory) bytes += graph.memory[m].bytes;
    most = std::max(most, bytes);
  }
  return most;
}

StepGraph reversed(StepGraph graph) {
  for (Step& step : graph.steps) std::swap(step.before, step.after);
  for (StepMemory& m : graph.memory) std::swap(m.before, m.after);
  return graph;
}

}  // namespace

std::int64_t peak_of(const StepGraph& graph, const StepOrder& order) {
  Partial partial(graph);
  for (const std::uint32_t step : order) partial.take(graph, step);
  return partial.peak();
}

StepOrder least_alive_order(const StepGraph& graph) {
  StepOrder best(graph.steps.size());
  std::iota(best.begin(), best.end(), 0u);
  const std::size_t size = graph.steps.size() + graph.memory.size();
  const std::size_t width = kMostCopied / std::max<std::size_t>(size * size, 1);
  if (width == 0) return best;  // a program of many thousand steps stays as it is
  std::int64_t peak = peak_of(graph, best);
  if (peak <= least_peak_of_steps(graph)) return best;
  const auto consider = [&](StepOrder order) {
    const std::int64_t other = peak_of(graph, order);
    if (other >= peak) return;
    peak = other;
    best = std::move(order);
  };
  consider(search(graph, std::min(width, kWidest)));
  StepOrder from_the_end = search(reversed(graph), std::min(width, kWidest));
  std::reverse(from_the_end.begin(), from_the_end.end());
  consider(std::move(from_the_end));
  return best;
}

}  // namespace tessera::plan
