// SPDX-License-Identifier: Apache-2.0
// Which bytes of a piece of memory are taken when: a segment tree over ticks that holds spans of
// bytes. What lies side by side at the same time is one span, so that a question costs about as
// much as the taken bytes have gaps, however much is live at once. Plans of whole programs are
// made with it when compiling, and those of a library's kernels when an instance is created.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/array.h"

namespace tessera::runtime {

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Ticks count steps in order; both ends are inclusive.
struct TickRange {
  std::int64_t first = 0, last = 0;
};

// Bytes without overlap, ascending, neighbours joined. Its owner frees `at`.
struct ByteSpans {
  struct Span {
    std::int64_t begin, end;
  };
  Span* at;
  std::size_t size, capacity;

  // False: out of memory.
  [[nodiscard]] bool add(std::int64_t begin, std::int64_t end);
  // The lowest offset from `offset` on, a multiple of `align_bytes` like it, where so many bytes
  // are in no span.
  std::int64_t first_gap(std::int64_t offset, std::int64_t bytes, std::int64_t align_bytes) const;
};

// What wants bytes while some ticks last: ascending ranges of them. `align_bytes` is a power of
// two.
struct Wanted {
  const TickRange* live;
  std::size_t live_count;
  std::int64_t bytes, align_bytes;
};

class Occupancy {
 public:
  Occupancy() = default;
  Occupancy(const Occupancy&) = delete;
  Occupancy& operator=(const Occupancy&) = delete;
  ~Occupancy();

  // For what begins and ends at these ticks, in any order, and is aligned to multiples of `step`.
  // To be called once. False: out of memory.
  [[nodiscard]] bool create(const std::int64_t* ticks, std::size_t count, std::int64_t step);
  // False: out of memory.
  [[nodiscard]] bool add(const Wanted& wanted, std::int64_t offset);
  // The lowest aligned offset at which it misses all that was added and is live with it.
  std::int64_t first_gap(const Wanted& wanted) const;

 private:
  // A node stands for a span of ticks, its two halves for those of the span; 1 is the root.
  struct Node {
    ByteSpans whole;  // taken during all of the span, and not of the one above
    ByteSpans below;  // in `whole` of a node under this one
    std::size_t last_added;
  };
  std::size_t leaf(std::int64_t tick) const;
  [[nodiscard]] bool add_to(std::size_t node, std::int64_t begin, std::int64_t end);
  std::int64_t first_gap_beside(const TickRange& live, const Wanted& wanted,
                                std::int64_t offset) const;

  Array<std::int64_t> ticks_;  // at which something begins or ends
  std::int64_t step_ = 1;      // what all alignments are multiples of
  std::size_t leaves_ = 1;     // a power of two
  Array<Node> nodes_;
  std::size_t num_added_ = 0;
};

}  // namespace tessera::runtime
