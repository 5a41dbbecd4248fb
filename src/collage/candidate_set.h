// SPDX-License-Identifier: Apache-2.0
// Candidates of one spec in the order in which they were found, each once. What is added counts
// from the next round on.
#pragma once

#include <unordered_map>
#include <vector>

#include "collage/candidate.h"

namespace tessera::collage {

class CandidateSet {
 public:
  // Takes no more than `capacity`.
  CandidateSet(const std::vector<Candidate>& candidates, std::size_t capacity);

  std::size_t size() const { return size_; }
  const Candidate& operator[](std::size_t i) const { return candidates_[i]; }
  // Those from here on are new in this round.
  std::size_t first_new() const { return first_new_; }
  // Those that read this node, ascending: what lies downstream of it.
  const std::vector<std::size_t>& entered_at(Index index) const;
  // Those whose value the node is, ascending.
  const std::vector<std::size_t>& leaving_at(Index index) const;

  // Is the union of these two there already, perhaps for the next round?
  bool has_union(const Candidate& a, const Candidate& b) const;
  // Was there one more than it takes? Then what is there is not all, and nothing is worth adding.
  bool is_overfull() const { return overfull_; }
  // False if it is there, or cannot be taken.
  bool add(Candidate candidate);
  // What was added is there now; false if there was nothing.
  bool next_round();
  std::vector<Candidate> take() && { return std::move(candidates_); }

 private:
  using Places = std::unordered_map<Index, std::vector<std::size_t>>;  // never iterated

  std::vector<Candidate> candidates_;
  std::size_t capacity_, size_ = 0, first_new_ = 0;
  bool overfull_ = false;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_hash_;  // never iterated
  Places entered_, leaving_;
};

}  // namespace tessera::collage
