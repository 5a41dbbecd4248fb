// SPDX-License-Identifier: Apache-2.0
#include "runtime/occupancy.h"

#include <algorithm>
#include <cstring>

namespace tessera::runtime {
namespace {

// Calls f for the fewest nodes that are the ticks from one leaf to another.
template <class F>
void for_each_span(std::size_t first, std::size_t last, F&& f) {
  for (std::size_t end = last + 1; first < end; first /= 2, end /= 2) {
    if (first % 2 != 0) f(first++);
    if (end % 2 != 0) f(--end);
  }
}

// The first span that ends behind `byte`.
std::size_t first_behind(const ByteSpans& spans, std::int64_t byte) {
  const auto* found = std::partition_point(spans.at, spans.at + spans.size,
                                           [=](const ByteSpans::Span& s) { return s.end <= byte; });
  return static_cast<std::size_t>(found - spans.at);
}

}  // namespace

// Spans that it meets or touches become one with it.
bool ByteSpans::add(std::int64_t begin, std::int64_t end) {
  std::size_t first = first_behind(*this, begin);
  if (first > 0 && at[first - 1].end == begin) --first;
  std::size_t last = first;
  for (; last < size && at[last].begin <= end; ++last) {
    begin = std::min(begin, at[last].begin);
    end = std::max(end, at[last].end);
  }
  if (first == last && size == capacity) {
    const std::size_t more = capacity == 0 ? 4 : 2 * capacity;
    void* grown = std::realloc(at, more * sizeof(Span));
    if (grown == nullptr) return false;
    at = static_cast<Span*>(grown);
    capacity = more;
  }
  if (last != first + 1) {
    std::memmove(at + first + 1, at + last, (size - last) * sizeof(Span));
    size = size + 1 - (last - first);
  }
  at[first] = {begin, end};
  return true;
}

std::int64_t ByteSpans::end_of_first(std::int64_t begin, std::int64_t end) const {
  const std::size_t next = first_behind(*this, begin);
  return next < size && at[next].begin < end ? at[next].end : -1;
}

Occupancy::~Occupancy() {
  for (const Node& node : nodes_) {
    std::free(node.whole.at);
    std::free(node.below.at);
  }
}

bool Occupancy::create(const std::int64_t* ticks, std::size_t count, std::int64_t step) {
  step_ = step;
  Array<std::int64_t> sorted;
  if (!sorted.allocate(count)) return false;
  std::copy_n(ticks, count, sorted.begin());
  std::sort(sorted.begin(), sorted.end());
  const auto distinct =
      static_cast<std::size_t>(std::unique(sorted.begin(), sorted.end()) - sorted.begin());
  if (!ticks_.allocate(distinct)) return false;
  std::copy_n(sorted.begin(), distinct, ticks_.begin());
  while (leaves_ < distinct) leaves_ *= 2;
  return nodes_.allocate(2 * leaves_);
}

std::size_t Occupancy::leaf(std::int64_t tick) const {
  const auto* at = std::lower_bound(ticks_.begin(), ticks_.end(), tick);
  return leaves_ + static_cast<std::size_t>(at - ticks_.begin());
}

bool Occupancy::add_to(std::size_t node, std::int64_t begin, std::int64_t end) {
  if (!nodes_[node].whole.add(begin, end)) return false;
  for (std::size_t above = node / 2; above > 0; above /= 2) {
    if (std::exchange(nodes_[above].last_added, num_added_) == num_added_) return true;
    if (!nodes_[above].below.add(begin, end)) return false;
  }
  return true;
}

bool Occupancy::add(const Wanted& wanted, std::int64_t offset) {
  if (wanted.bytes == 0) return true;
  ++num_added_;
  // Nothing can begin before the next step: what is lost there is no gap.
  const std::int64_t end = round_up(offset + wanted.bytes, step_);
  bool added = true;
  for (std::size_t i = 0; i < wanted.live_count; ++i) {
    for_each_span(leaf(wanted.live[i].first), leaf(wanted.live[i].last),
                  [&](std::size_t node) { added = added && add_to(node, offset, end); });
  }
  return added;
}

// The end of something that has bytes there then; -1: nothing has.
std::int64_t Occupancy::end_in_way(const TickRange& live, std::int64_t begin,
                                   std::int64_t end) const {
  const std::size_t first = leaf(live.first), last = leaf(live.last);
  std::int64_t found = -1;
  for_each_span(first, last, [&](std::size_t node) {
    found = std::max({found, nodes_[node].whole.end_of_first(begin, end),
                      nodes_[node].below.end_of_first(begin, end)});
  });
  // Larger spans that reach into this one hold its first tick or its last.
  for (std::size_t node : {first, last}) {
    for (; node > 0; node /= 2) {
      found = std::max(found, nodes_[node].whole.end_of_first(begin, end));
    }
  }
  return found;
}

std::int64_t Occupancy::first_gap(const Wanted& wanted) const {
  if (wanted.bytes == 0) return 0;
  std::int64_t offset = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t i = 0; i < wanted.live_count; ++i) {
      const std::int64_t end = end_in_way(wanted.live[i], offset, offset + wanted.bytes);
      if (end < 0) continue;
      offset = round_up(end, wanted.align_bytes);
      moved = true;
    }
  }
  return offset;
}

}  // namespace tessera::runtime
