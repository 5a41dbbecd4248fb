// SPDX-License-Identifier: Apache-2.0
// What a search has covered so far (relay-spec 9.11).
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "collage/index_set.h"
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

}  // namespace tessera::collage
