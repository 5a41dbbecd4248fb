// SPDX-License-Identifier: Apache-2.0
// What a search has covered so far (relay-spec 9.11).
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "collage/candidate.h"
#include "collage/later_nodes.h"
#include "support/hash.h"

namespace tessera::collage {

// A covered set: all nodes before `next`, and some after it.
struct Covered {
  Index next = 0;
  LaterNodes beyond;
  bool operator==(const Covered&) const = default;
};

struct CoveredHash {
  std::size_t operator()(const Covered& c) const { return hash_combine(c.next, c.beyond.hash()); }
};

// The order of IndexSet.
inline bool is_less(const Covered& a, const Covered& b) {
  return a.next != b.next ? a.next > b.next : comes_before(a.beyond, b.beyond);
}

// Needs a candidate that begins at `next` and meets nothing that is covered.
inline Covered with(const Covered& covered, const IndexSet& inside) {
  std::span<const Index> more = inside.members();
  LaterNodes::Cursor at(covered.beyond);
  Index next = covered.next;
  for (;; ++next) {
    if (!at.is_at_end() && *at == next) {
      ++at;
    } else if (!more.empty() && more.front() == next) {
      more = more.subspan(1);
    } else {
      break;
    }
  }
  return {next, covered.beyond.from(next, more)};
}

inline bool meets(const Covered& covered, const IndexSet& inside) {
  if (inside.count() <= covered.beyond.size()) {
    return std::any_of(inside.begin(), inside.end(),
                       [&](Index index) { return covered.beyond.contains(index); });
  }
  for (LaterNodes::Cursor at(covered.beyond); !at.is_at_end(); ++at) {
    if (inside.contains(*at)) return true;
  }
  return false;
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
