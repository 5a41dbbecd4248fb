// SPDX-License-Identifier: Apache-2.0
// Which needs live at the same time: a segment tree over ticks, so that the answers cost about as
// much as they are long, however many needs there are.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace tessera::plan {

class LiveTogether {
 public:
  explicit LiveTogether(const std::vector<Need>& needs);
  void add(std::size_t need);
  // Those added that share a tick with this one; each once, in no order that means something.
  std::vector<std::size_t> with(std::size_t need);

 private:
  // A node stands for a span of ticks, its two halves for those of the span; 1 is the root.
  struct Node {
    std::vector<std::size_t> whole;  // live during all of the span, and not of the one above
    std::vector<std::size_t> below;  // in `whole` of a node under this one
  };
  std::pair<std::size_t, std::size_t> leaves(const TickRange& range) const;
  void put(std::size_t node, std::size_t need);
  // Calls f for the fewest nodes that are the ticks from one leaf to another.
  template <class F>
  static void for_each_span(std::size_t first, std::size_t last, F&& f);

  const std::vector<Need>& needs_;
  std::vector<std::int64_t> ticks_;  // at which something begins or ends
  std::size_t leaves_ = 1;           // a power of two
  std::vector<Node> nodes_;
  std::vector<std::size_t> asked_;  // by need: the last question that it answered
  std::size_t question_ = 0;
};

}  // namespace tessera::plan
