// SPDX-License-Identifier: Apache-2.0
#include "runtime/occupancy.h"

#include <algorithm>
#include <cstring>
#include <limits>

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

// A range of ticks is at most two nodes of each level, with two lists each, and the nodes above its
// ends have one.
constexpr std::size_t kMostSpansOfRange = 6 * std::numeric_limits<std::size_t>::digits;

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

std::int64_t ByteSpans::first_gap(std::int64_t offset, std::int64_t bytes,
                                  std::int64_t align_bytes) const {
  for (std::size_t i = first_behind(*this, offset); i < size && at[i].begin < offset + bytes; ++i) {
    offset = std::max(offset, round_up(at[i].end, align_bytes));
  }
  return offset;
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
  // Mostly something begins or ends at every tick.
  const auto behind_first = static_cast<std::size_t>(tick - ticks_[0]);
  if (behind_first < ticks_.size() && ticks_[behind_first] == tick) return leaves_ + behind_first;
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

// What moves the gap away from the spans of one node may move it into those of another: they are
// asked in turns until none of them moves it.
std::int64_t Occupancy::first_gap_beside(const TickRange& live, const Wanted& wanted,
                                         std::int64_t offset) const {
  const ByteSpans* taken[kMostSpansOfRange];
  std::size_t count = 0;
  const auto ask = [&](const ByteSpans& spans) {
    if (spans.size > 0) taken[count++] = &spans;
  };
  std::size_t first = leaf(live.first), last = leaf(live.last);
  for_each_span(first, last, [&](std::size_t node) {
    ask(nodes_[node].whole);
    ask(nodes_[node].below);
  });
  // Larger spans that reach into this one hold its first tick or its last.
  for (; first != last; first /= 2, last /= 2) {
    ask(nodes_[first].whole);
    ask(nodes_[last].whole);
  }
  for (; first > 0; first /= 2) ask(nodes_[first].whole);
  for (std::size_t i = 0, unmoved = 0; unmoved < count; i = i + 1 == count ? 0 : i + 1) {
    const std::int64_t next = taken[i]->first_gap(offset, wanted.bytes, wanted.align_bytes);
    unmoved = next == offset ? unmoved + 1 : 1;
    offset = next;
  }
  return offset;
}

std::int64_t Occupancy::first_gap(const Wanted& wanted) const {
  if (wanted.bytes == 0) return 0;
  std::int64_t offset = 0;
  for (std::size_t i = 0, unmoved = 0; unmoved < wanted.live_count;) {
    const std::int64_t next = first_gap_beside(wanted.live[i], wanted, offset);
    unmoved = next == offset ? unmoved + 1 : 1;
    offset = next;
    i = i + 1 == wanted.live_count ? 0 : i + 1;
  }
  return offset;
}

}  // namespace tessera::runtime
