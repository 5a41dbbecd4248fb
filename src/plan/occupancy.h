// SPDX-License-Identifier: Apache-2.0
// Which bytes of a pool are taken when: a segment tree over ticks that holds spans of bytes. What
// lies side by side at the same time is one span, so that a question costs about as much as the
// taken bytes have gaps, however many needs are live at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace tessera::plan {

// Bytes without overlap, neighbours joined.
class ByteSpans {
 public:
  void add(std::int64_t begin, std::int64_t end);
  // The end of the first span that has bytes in [begin, end), which is not empty; -1: none has.
  std::int64_t end_of_first(std::int64_t begin, std::int64_t end) const;

 private:
  std::map<std::int64_t, std::int64_t> end_of_;  // by begin
};

class Occupancy {
 public:
  // For needs among these; their alignments are powers of two.
  explicit Occupancy(const std::vector<Need>& needs);
  void add(const Need& need, std::int64_t offset);
  // The lowest aligned offset at which the need misses all that was added and is live with it.
  std::int64_t first_gap(const Need& need) const;

 private:
  // A node stands for a span of ticks, its two halves for those of the span; 1 is the root.
  struct Node {
    ByteSpans whole;  // taken during all of the span, and not of the one above
    ByteSpans below;  // in `whole` of a node under this one
    std::size_t last_added = 0;
  };
  std::pair<std::size_t, std::size_t> leaves(const TickRange& range) const;
  std::vector<const ByteSpans*> taken_during(const std::vector<TickRange>& live) const;

  std::vector<std::int64_t> ticks_;  // at which something begins or ends
  std::int64_t step_ = 1;            // what all alignments are multiples of
  std::size_t leaves_ = 1;           // a power of two
  std::vector<Node> nodes_;
  std::size_t num_added_ = 0;
};

}  // namespace tessera::plan
