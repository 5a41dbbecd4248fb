// SPDX-License-Identifier: Apache-2.0
#include "collage/prune.h"

#include <algorithm>
#include <unordered_map>

namespace tessera::collage {
namespace {

class Pruner {
 public:
  Pruner(const DataflowGraph& graph, std::vector<Candidate> candidates)
      : candidates_(std::move(candidates)),
        with_(graph.size()),
        available_(candidates_.size(), true),
        kept_(candidates_.size(), false),
        within_(candidates_.size(), kNone) {
    drop_repeated();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      for (const Index index : inside(i)) with_[index].push_back(i);
    }
  }

  std::vector<Candidate> run() {
    while (keep_maximal()) drop_overlapping();
    std::vector<Candidate> out;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (kept_[i]) out.push_back(std::move(candidates_[i]));
    }
    std::stable_sort(out.begin(), out.end());
    return out;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  const IndexSet& inside(std::size_t i) const { return candidates_[i].sub_graph.inside(); }

  void drop_repeated() {
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_hash;  // never iterated
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      auto& alike = by_hash[inside(i).hash()];
      const bool repeats = std::any_of(alike.begin(), alike.end(), [&](std::size_t j) {
        return candidates_[j].spec == candidates_[i].spec && inside(j) == inside(i);
      });
      if (repeats) available_[i] = false;
      if (!repeats) alike.push_back(i);
    }
  }

  // What contains it has its first node too.
  bool is_maximal(std::size_t i) {
    if (within_[i] != kNone && available_[within_[i]]) return false;
    within_[i] = kNone;
    for (const std::size_t j : with_[candidates_[i].sub_graph.first()]) {
      if (!available_[j] || candidates_[j].spec != candidates_[i].spec) continue;
      if (inside(j).count() <= inside(i).count() || !inside(i).is_subset_of(inside(j))) continue;
      within_[i] = j;
      return false;
    }
    return true;
  }

  bool keep_maximal() {
    bool found = false;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!available_[i] || kept_[i] || !is_maximal(i)) continue;
      kept_[i] = true;
      found = true;
    }
    return found;
  }

  bool overlaps_kept(std::size_t i) const {
    for (const Index index : inside(i)) {
      for (const std::size_t j : with_[index]) {
        if (j != i && kept_[j] && !(inside(j) == inside(i))) return true;
      }
    }
    return false;
  }

  void drop_overlapping() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (kept_[i] && available_[i] && overlaps_kept(i)) available_[i] = false;
    }
  }

  std::vector<Candidate> candidates_;
  std::vector<std::vector<std::size_t>> with_;  // candidates by node
  std::vector<bool> available_, kept_;
  std::vector<std::size_t> within_;  // a greater one that was available when last asked
};

}  // namespace

std::vector<Candidate> prune(const DataflowGraph& graph, std::vector<Candidate> candidates) {
  return Pruner(graph, std::move(candidates)).run();
}

}  // namespace tessera::collage
