// SPDX-License-Identifier: Apache-2.0
// What a search has covered so far (relay-spec 9.11).
#pragma once

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "collage/candidate.h"
#include "support/hash.h"

namespace tessera::collage {

// A covered set: all nodes before `next`, and some after it.
struct Covered {
  Index next = 0;
  std::vector<Index> beyond;  // ascending
  bool operator==(const Covered&) const = default;
};

struct CoveredHash {
  std::size_t operator()(const Covered& c) const {
    std::uint64_t h = c.next;
    for (const Index index : c.beyond) h = hash_combine(h, index);
    return h;
  }
};

// The order of IndexSet.
inline bool is_less(const Covered& a, const Covered& b) {
  return a.next != b.next ? a.next > b.next : comes_before(a.beyond, b.beyond);
}

// Needs a candidate that begins at `next` and meets nothing that is covered.
inline Covered with(const Covered& covered, const IndexSet& inside) {
  std::vector<Index> all;
  std::merge(covered.beyond.begin(), covered.beyond.end(), inside.begin(), inside.end(),
             std::back_inserter(all));
  Covered out{covered.next, {}};
  std::size_t i = 0;
  while (i < all.size() && all[i] == out.next) ++i, ++out.next;
  out.beyond.assign(all.begin() + static_cast<std::ptrdiff_t>(i), all.end());
  return out;
}

inline bool meets(const Covered& covered, const IndexSet& inside) {
  return std::any_of(covered.beyond.begin(), covered.beyond.end(),
                     [&](Index index) { return inside.contains(index); });
}

// What may come next: of sorted candidates those that begin at a node.
class CandidatesByFirst {
 public:
  CandidatesByFirst(std::size_t num_nodes, std::span<const Candidate> sorted)
      : candidates_(sorted), begin_(num_nodes + 1, 0) {
    for (const Candidate& candidate : sorted) ++begin_[candidate.sub_graph.first() + 1];
    for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  }

  // Calls `reach` with each that begins where the covered set ends and meets nothing of it: its
  // place, the set with it, and its seconds. Was there one?
  template <class Reach>
  bool extend(const Covered& covered, const Reach& reach) const {
    bool fired = false;
    for (std::size_t c = begin_[covered.next]; c < begin_[covered.next + 1]; ++c) {
      const IndexSet& inside = candidates_[c].sub_graph.inside();
      if (meets(covered, inside)) continue;
      fired = true;
      reach(c, with(covered, inside), candidates_[c].cost.seconds());
    }
    return fired;
  }

 private:
  std::span<const Candidate> candidates_;
  std::vector<std::size_t> begin_;  // by node
};

}  // namespace tessera::collage
