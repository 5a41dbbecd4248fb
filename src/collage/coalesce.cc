// SPDX-License-Identifier: Apache-2.0
#include "collage/coalesce.h"

#include <algorithm>
#include <optional>

namespace tessera::collage {
namespace {

// Each node knows the place of its candidate, so that only neighbours are looked at.
class Coalescer {
 public:
  Coalescer(const DataflowGraph& graph, std::vector<Candidate> candidates)
      : graph_(graph), owner_(graph.size(), kNone) {
    std::stable_sort(candidates.begin(), candidates.end());
    for (Candidate& candidate : candidates) {
      own(candidate, places_.size());
      places_.emplace_back(std::move(candidate));
    }
  }

  std::vector<Candidate> run() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (std::size_t i = 0; i < places_.size(); ++i) changed = grow(i) || changed;
    }
    std::vector<Candidate> out;
    for (std::optional<Candidate>& place : places_) {
      if (place) out.push_back(std::move(*place));
    }
    std::stable_sort(out.begin(), out.end());
    return out;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  void own(const Candidate& candidate, std::size_t place) {
    for (const Index index : candidate.sub_graph.inside()) owner_[index] = place;
  }

  // Takes what touches it downstream, in the order of places, until it has passed them all.
  bool grow(std::size_t i) {
    bool grown = false;
    std::size_t from = 0;
    while (places_[i]) {
      const std::size_t j = next_touching(i, from);
      if (j == kNone) break;
      own(*places_[j], i);
      places_[i] = joined(graph_, *places_[i], *places_[j]);
      places_[j].reset();
      from = j + 1;
      grown = true;
    }
    return grown;
  }

  // What is in a branch is computed there alone.
  bool may_join(const Candidate& a, const Candidate& b) const {
    return a.spec == b.spec &&
           graph_[a.sub_graph.first()].basic_block == graph_[b.sub_graph.first()].basic_block;
  }

  // The first place from `from` on.
  std::size_t next_touching(std::size_t i, std::size_t from) const {
    const Candidate& upstream = *places_[i];
    std::vector<std::size_t> near;
    for (const Index index : upstream.sub_graph.output()) {
      const std::size_t j = owner_[index];
      if (j != kNone && j >= from && may_join(upstream, *places_[j])) near.push_back(j);
    }
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
    for (const std::size_t j : near) {
      if (are_touching(graph_, upstream.sub_graph, places_[j]->sub_graph)) return j;
    }
    return kNone;
  }

  const DataflowGraph& graph_;
  std::vector<std::size_t> owner_;  // by node
  std::vector<std::optional<Candidate>> places_;
};

}  // namespace

std::vector<Candidate> coalesce(const DataflowGraph& graph, std::vector<Candidate> candidates) {
  return Coalescer(graph, std::move(candidates)).run();
}

}  // namespace tessera::collage
