// SPDX-License-Identifier: Apache-2.0
#include "collage/candidate_set.h"

#include <algorithm>

namespace tessera::collage {

CandidateSet::CandidateSet(const std::vector<Candidate>& candidates, std::size_t capacity)
    : capacity_(capacity) {
  for (const Candidate& candidate : candidates) add(candidate);
  next_round();
}

namespace {

const std::vector<std::size_t>& at(
    const std::unordered_map<Index, std::vector<std::size_t>>& places, Index index) {
  static const std::vector<std::size_t> kNone;
  const auto found = places.find(index);
  return found == places.end() ? kNone : found->second;
}

}  // namespace

const std::vector<std::size_t>& CandidateSet::entered_at(Index index) const {
  return at(entered_, index);
}
const std::vector<std::size_t>& CandidateSet::leaving_at(Index index) const {
  return at(leaving_, index);
}

bool CandidateSet::has_union(const Candidate& a, const Candidate& b) const {
  const IndexSet inside = a.sub_graph.inside() | b.sub_graph.inside();
  const auto alike = by_hash_.find(inside.hash());
  if (alike == by_hash_.end()) return false;
  std::vector<const SubGraph*> nested;
  for (const Candidate* part : {&a, &b}) {
    for (const NestedSubGraph& n : part->sub_graph.nested()) nested.push_back(&n.sub_graph);
  }
  std::stable_sort(nested.begin(), nested.end(),
                   [](const SubGraph* x, const SubGraph* y) { return *x < *y; });
  return std::any_of(alike->second.begin(), alike->second.end(), [&](std::size_t i) {
    const SubGraph& known = candidates_[i].sub_graph;
    return known.inside() == inside &&
           std::equal(nested.begin(), nested.end(), known.nested().begin(), known.nested().end(),
                      [](const SubGraph* x, const auto& y) { return *x == y.sub_graph; });
  });
}

bool CandidateSet::add(Candidate candidate) {
  auto& alike = by_hash_[candidate.sub_graph.inside().hash()];
  const bool known = std::any_of(alike.begin(), alike.end(),
                                 [&](std::size_t i) { return candidates_[i] == candidate; });
  overfull_ = overfull_ || (!known && candidates_.size() == capacity_);
  if (known || overfull_) return false;
  alike.push_back(candidates_.size());
  candidates_.push_back(std::move(candidate));
  return true;
}

bool CandidateSet::next_round() {
  first_new_ = size_;
  size_ = candidates_.size();
  for (std::size_t i = first_new_; i < size_; ++i) {
    for (const Index index : candidates_[i].sub_graph.entry()) entered_[index].push_back(i);
    for (const Index index : candidates_[i].sub_graph.exit()) leaving_[index].push_back(i);
  }
  return first_new_ < size_;
}

}  // namespace tessera::collage
