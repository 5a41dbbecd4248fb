// SPDX-License-Identifier: Apache-2.0
#include "plan/occupancy.h"

#include <algorithm>
#include <iterator>

namespace tessera::plan {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t align) {
  return (value + align - 1) / align * align;
}

// Calls f for the fewest nodes that are the ticks from one leaf to another.
template <class F>
void for_each_span(std::size_t first, std::size_t last, F&& f) {
  for (std::size_t end = last + 1; first < end; first /= 2, end /= 2) {
    if (first % 2 != 0) f(first++);
    if (end % 2 != 0) f(--end);
  }
}

}  // namespace

void ByteSpans::add(std::int64_t begin, std::int64_t end) {
  auto next = end_of_.upper_bound(begin);
  if (next != end_of_.begin() && std::prev(next)->second >= begin) begin = (--next)->first;
  for (; next != end_of_.end() && next->first <= end; next = end_of_.erase(next)) {
    end = std::max(end, next->second);
  }
  end_of_.emplace_hint(next, begin, end);
}

std::int64_t ByteSpans::end_of_first(std::int64_t begin, std::int64_t end) const {
  auto next = end_of_.upper_bound(begin);
  if (next != end_of_.begin() && std::prev(next)->second > begin) return std::prev(next)->second;
  return next != end_of_.end() && next->first < end ? next->second : -1;
}

Occupancy::Occupancy(const std::vector<Need>& needs) {
  if (!needs.empty()) {
    step_ = std::min_element(needs.begin(), needs.end(), [](const Need& a, const Need& b) {
              return a.align_bytes < b.align_bytes;
            })->align_bytes;
  }
  for (const Need& need : needs) {
    for (const TickRange& range : need.live) {
      ticks_.push_back(range.first);
      ticks_.push_back(range.last);
    }
  }
  std::sort(ticks_.begin(), ticks_.end());
  ticks_.erase(std::unique(ticks_.begin(), ticks_.end()), ticks_.end());
  while (leaves_ < ticks_.size()) leaves_ *= 2;
  nodes_.resize(2 * leaves_);
}

std::pair<std::size_t, std::size_t> Occupancy::leaves(const TickRange& range) const {
  const auto leaf = [&](std::int64_t tick) {
    const auto at = std::lower_bound(ticks_.begin(), ticks_.end(), tick);
    return leaves_ + static_cast<std::size_t>(at - ticks_.begin());
  };
  return {leaf(range.first), leaf(range.last)};
}

void Occupancy::add(const Need& need, std::int64_t offset) {
  if (need.bytes == 0) return;
  ++num_added_;
  // Nothing can begin before the next step: what is lost there is no gap.
  const std::int64_t end = round_up(offset + need.bytes, step_);
  for (const TickRange& range : need.live) {
    const auto [first, last] = leaves(range);
    for_each_span(first, last, [&](std::size_t node) {
      nodes_[node].whole.add(offset, end);
      for (std::size_t above = node / 2; above > 0; above /= 2) {
        if (std::exchange(nodes_[above].last_added, num_added_) == num_added_) return;
        nodes_[above].below.add(offset, end);
      }
    });
  }
}

std::vector<const ByteSpans*> Occupancy::taken_during(const std::vector<TickRange>& live) const {
  std::vector<const ByteSpans*> taken;
  for (const TickRange& range : live) {
    const auto [first, last] = leaves(range);
    for_each_span(first, last, [&](std::size_t node) {
      taken.push_back(&nodes_[node].whole);
      taken.push_back(&nodes_[node].below);
    });
    // Larger spans that reach into this one hold its first tick or its last.
    for (std::size_t node : {first, last}) {
      for (; node > 0; node /= 2) taken.push_back(&nodes_[node].whole);
    }
  }
  return taken;
}

std::int64_t Occupancy::first_gap(const Need& need) const {
  if (need.bytes == 0) return 0;
  const std::vector<const ByteSpans*> taken = taken_during(need.live);
  std::int64_t offset = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (const ByteSpans* spans : taken) {
      const std::int64_t end = spans->end_of_first(offset, offset + need.bytes);
      if (end < 0) continue;
      offset = round_up(end, need.align_bytes);
      moved = true;
    }
  }
  return offset;
}

}  // namespace tessera::plan
