// SPDX-License-Identifier: Apache-2.0
#include "plan/live_together.h"

#include <algorithm>

namespace tessera::plan {

LiveTogether::LiveTogether(const std::vector<Need>& needs) : needs_(needs), asked_(needs.size()) {
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

std::pair<std::size_t, std::size_t> LiveTogether::leaves(const TickRange& range) const {
  const auto leaf = [&](std::int64_t tick) {
    const auto at = std::lower_bound(ticks_.begin(), ticks_.end(), tick);
    return leaves_ + static_cast<std::size_t>(at - ticks_.begin());
  };
  return {leaf(range.first), leaf(range.last)};
}

template <class F>
void LiveTogether::for_each_span(std::size_t first, std::size_t last, F&& f) {
  for (std::size_t end = last + 1; first < end; first /= 2, end /= 2) {
    if (first % 2 != 0) f(first++);
    if (end % 2 != 0) f(--end);
  }
}

void LiveTogether::put(std::size_t node, std::size_t need) {
  nodes_[node].whole.push_back(need);
  for (std::size_t above = node / 2; above > 0; above /= 2) {
    std::vector<std::size_t>& below = nodes_[above].below;
    if (!below.empty() && below.back() == need) return;
    below.push_back(need);
  }
}

void LiveTogether::add(std::size_t need) {
  for (const TickRange& range : needs_[need].live) {
    const auto [first, last] = leaves(range);
    for_each_span(first, last, [&](std::size_t node) { put(node, need); });
  }
}

std::vector<std::size_t> LiveTogether::with(std::size_t need) {
  ++question_;
  std::vector<std::size_t> found;
  const auto take = [&](const std::vector<std::size_t>& some) {
    for (const std::size_t other : some) {
      if (std::exchange(asked_[other], question_) != question_) found.push_back(other);
    }
  };
  for (const TickRange& range : needs_[need].live) {
    const auto [first, last] = leaves(range);
    for_each_span(first, last, [&](std::size_t node) {
      take(nodes_[node].whole);
      take(nodes_[node].below);
    });
    // Larger spans that reach into this one hold its first tick or its last.
    for (std::size_t node : {first, last}) {
      for (; node > 0; node /= 2) take(nodes_[node].whole);
    }
  }
  return found;
}

}  // namespace tessera::plan
