// SPDX-License-Identifier: Apache-2.0
#include "collage/candidate_set.h"

#include <algorithm>

namespace tessera::collage {

CandidateSet::CandidateSet(const std::vector<Candidate>& candidates) {
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

bool CandidateSet::add(Candidate candidate) {
  auto& alike = by_hash_[candidate.sub_graph.inside().hash()];
  const bool known = std::any_of(alike.begin(), alike.end(),
                                 [&](std::size_t i) { return candidates_[i] == candidate; });
  if (known) return false;
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
