// SPDX-License-Identifier: Apache-2.0
// Relay-spec 8.9: orders of placement that differ by a swap, of which the better ones are kept.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>

#include "plan/greedy.h"
#include "plan/rounding.h"

namespace tessera::plan {
namespace {

constexpr int kAttempts = 500;
constexpr std::size_t kSecondLevelPercent = 75;

using Order = std::vector<std::uint32_t>;

class HillClimb {
 public:
  HillClimb(const Problem& problem, Conflicts conflicts)
      : problem_(problem),
        conflicts_(std::move(conflicts)),
        order_(by_size(problem, conflicts_)),
        rank_(problem.needs.size()),
        goal_(problem.conflicts ? 0 : pressure(problem.needs)),
        pools_(problem.pools) {
    for (std::size_t i = 0; i < order_.size(); ++i) rank_[order_[i]] = i;
  }

  Result<std::vector<Placement>> run() {
    std::int64_t best = -1;
    std::vector<Placement> found;
    std::optional<std::uint32_t> failed;
    for (int attempt = 1; attempt <= kAttempts && best != goal_; ++attempt) {
      const auto without_room = place_all();
      if (attempt == 1) failed = without_room;
      const std::int64_t total = without_room ? -1 : bytes();
      const bool is_better = total >= 0 && (best < 0 || total < best);
      if (is_better) {
        best = total;
        found = placed_;
      }
      if (best == goal_) break;
      if (!is_better && attempt > 1 && !is_accepted(total, best, attempt)) swap_back();
      swap_two(without_room);
    }
    if (best >= 0) return found;
    undo_to_first();
    return fail(out_of_space(problem_, *failed, placed_));
  }

 private:
  // The need for which there is no room, if there is one.
  std::optional<std::uint32_t> place_all() {
    placed_.assign(problem_.needs.size(), Placement{-1, 0});
    for (const std::uint32_t i : order_) {
      if (!place(i)) return i;
    }
    return std::nullopt;
  }

  bool place(std::uint32_t i) {
    const Need& need = problem_.needs[i];
    for (const std::int32_t pool : candidate_pools(problem_, need)) {
      const std::int64_t limit = problem_.pools[static_cast<std::size_t>(pool)].limit_bytes;
      const std::int64_t offset = first_gap(i, pool);
      if (limit >= 0 && offset + need.bytes > limit) continue;
      placed_[i] = {pool, offset};
      return true;
    }
    return false;
  }

  std::int64_t first_gap(std::uint32_t i, std::int32_t pool) {
    std::vector<std::uint32_t> in_the_way;
    for (const std::uint32_t other : conflicts_[i]) {
      if (placed_[other].pool == pool) in_the_way.push_back(other);
    }
    std::sort(in_the_way.begin(), in_the_way.end(), [&](std::uint32_t a, std::uint32_t b) {
      return placed_[a].offset != placed_[b].offset ? placed_[a].offset < placed_[b].offset : a < b;
    });
    const Need& need = problem_.needs[i];
    std::int64_t offset = 0;
    for (const std::uint32_t other : in_the_way) {
      if (offset + need.bytes <= placed_[other].offset) continue;
      offset = std::max(offset, round_up(end_of(other), need.align_bytes));
    }
    return offset;
  }

  std::int64_t end_of(std::uint32_t i) const { return placed_[i].offset + problem_.needs[i].bytes; }

  // Of all pools; each has its own bytes from now on.
  std::int64_t bytes() {
    set_used_bytes(problem_.needs, placed_, pools_);
    std::int64_t total = 0;
    for (const Pool& pool : pools_) total += pool.bytes;
    return total;
  }

  bool reaches_end(std::uint32_t i) const {
    return end_of(i) == pools_[static_cast<std::size_t>(placed_[i].pool)].bytes;
  }

  bool is_accepted(std::int64_t total, std::int64_t best, int attempt) {
    if (total <= 0) return false;
    const auto percent = static_cast<double>(50 * (total - best)) / static_cast<double>(total) /
                         static_cast<double>(attempt);
    return static_cast<double>(random_() % 100) < percent;
  }

  void swap(std::uint32_t a, std::uint32_t b) {
    std::swap(order_[rank_[a]], order_[rank_[b]]);
    std::swap(rank_[a], rank_[b]);
  }
  void swap_back() {
    if (!swaps_.empty()) swap(swaps_.back().first, swaps_.back().second);
    if (!swaps_.empty()) swaps_.pop_back();
  }
  void undo_to_first() {
    while (!swaps_.empty()) swap_back();
    place_all();
  }

  // Conflicts of a need that are placed before it.
  Order earlier(std::uint32_t i) const {
    Order out;
    for (const std::uint32_t other : conflicts_[i]) {
      if (rank_[other] < rank_[i] && problem_.needs[other].bytes >= 0) out.push_back(other);
    }
    return out;
  }

  // One that reaches the end of its pool, or had no room, changes its turn with one that came
  // before, or two of these do.
  void swap_two(std::optional<std::uint32_t> without_room) {
    Order top;
    if (without_room) {
      top = {*without_room};
    } else {
      std::ranges::copy_if(order_, std::back_inserter(top),
                           [&](std::uint32_t i) { return reaches_end(i); });
    }
    if (top.empty()) return;
    const std::uint32_t high = pick(top);
    const Order first = earlier(high);
    if (first.empty()) return;
    Order second;
    for (const std::uint32_t i : first) {
      const Order more = earlier(i);
      second.insert(second.end(), more.begin(), more.end());
    }
    const bool deep = !second.empty() && random_() % 100 < kSecondLevelPercent;
    const std::uint32_t a = deep ? pick(first) : high;
    const std::uint32_t b = deep ? pick(second) : pick(first);
    if (a == b) return;
    swap(a, b);
    swaps_.emplace_back(a, b);
  }

  std::uint32_t pick(const Order& list) { return list[random_() % list.size()]; }

  const Problem& problem_;
  const Conflicts conflicts_;
  Order order_;
  std::vector<std::size_t> rank_;  // of a need in the order
  std::int64_t goal_;              // nothing is better
  std::vector<Placement> placed_;
  std::vector<Pool> pools_;  // with what is taken of each
  std::vector<std::pair<std::uint32_t, std::uint32_t>> swaps_;
  std::minstd_rand random_;  // the same numbers everywhere
};

Result<std::vector<Placement>> place_by_climbing(const Problem& problem) {
  TESSERA_TRY(Conflicts conflicts, conflicts_of(problem));
  return HillClimb(problem, std::move(conflicts)).run();
}

}  // namespace

extern const Algorithm hill_climb;
const Algorithm hill_climb{
    .name = "hill_climb",
    .summary = "500 orders that differ by a swap, with gaps filled; the best one's plan",
    .place = place_by_climbing,
};

}  // namespace tessera::plan
