// SPDX-License-Identifier: Apache-2.0
// Needs are placed one after the other, with gaps filled, in several orders. What then reaches
// the end of its pool comes earlier in the next order, which is kept where its plan is no larger.
// So until the plan has as few bytes as any plan can have, or the work is done that a program of
// this length is worth.
#include <algorithm>
#include <limits>
#include <random>

#include "plan/algorithm.h"
#include "plan/gap_placer.h"

namespace tessera::plan {
namespace {

// Placements of single needs: a fraction of a second, and for 90,000 needs still some orders.
constexpr std::size_t kMostPlacements = 200'000;
constexpr std::size_t kFewestOrders = 3;
// Orders of few needs are cheap, and few find what is to be found.
constexpr std::size_t kFew = 500;
constexpr std::size_t kMostPlacementsOfFew = 400'000;
// Orders that follow each other before the search begins anew.
constexpr std::size_t kOrdersFromOne = 1000;
// Of so many orders with a larger plan one is kept.
constexpr unsigned kLargerForOne = 20;

using Order = std::vector<std::uint32_t>;

std::int64_t ticks_of(const Need& need) {
  std::int64_t ticks = 0;
  for (const TickRange& range : need.live) ticks += range.last - range.first + 1;
  return ticks;
}

class LeastPeak {
 public:
  explicit LeastPeak(const Problem& problem)
      : problem_(problem), goal_(lower_bound(problem.needs)), by_size_(placed_needs(problem)) {
    sort_by_size(problem, by_size_);
    const std::size_t count = std::max<std::size_t>(by_size_.size(), 1);
    const std::size_t most = count <= kFew ? kMostPlacementsOfFew : kMostPlacements;
    orders_left_ = std::max(most / count, kFewestOrders);
  }

  Result<std::vector<Placement>> run() {
    Tried kept = tried(by_size_);
    for (const Order& order : {by_area(), by_duration()}) {
      if (is_done()) break;
      Tried next = tried(order);
      if (next.bytes < kept.bytes) kept = std::move(next);
    }
    for (std::size_t count = 1; !is_done(); ++count) {
      const bool is_anew = count % kOrdersFromOne == 0;
      Tried next = tried(is_anew ? by_size_ : changed(kept));
      const bool is_kept = next.bytes <= kept.bytes || random_() % kLargerForOne == 0;
      if (is_anew || is_kept) kept = std::move(next);
    }
    if (best_.bytes != kNoRoom) return placed_;
    return fail(*without_room_);
  }

 private:
  static constexpr std::int64_t kNoRoom = std::numeric_limits<std::int64_t>::max();
  struct Tried {
    Order order;
    std::int64_t bytes = kNoRoom;  // of its plan
    Order top;                     // what keeps it from being smaller
  };

  // Less than an alignment is not worth another order.
  bool is_done() const {
    return orders_left_ == 0 || best_.bytes < goal_ + tir::kDefaultAlignBytes;
  }

  Order by_area() const {
    std::vector<double> area(problem_.needs.size());
    for (const std::uint32_t i : by_size_) {
      area[i] = static_cast<double>(problem_.needs[i].bytes) *
                static_cast<double>(ticks_of(problem_.needs[i]));
    }
    Order order = by_size_;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return area[a] > area[b]; });
    return order;
  }
  Order by_duration() const {
    Order order = by_size_;
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return ticks_of(problem_.needs[a]) > ticks_of(problem_.needs[b]);
    });
    return order;
  }

  Tried tried(const Order& order) {
    --orders_left_;
    GapPlacer placer(problem_);
    for (const std::uint32_t i : order) {
      if (placer.place(i)) continue;
      if (!without_room_) without_room_ = out_of_space(problem_, i, placer.placements());
      return {order, kNoRoom, {i}};
    }
    Tried done = {order, placer.bytes(), highest(placer)};
    if (done.bytes < best_.bytes) {
      best_ = done;
      placed_ = placer.placements();
    }
    return done;
  }

  // What lies in the bytes at the ends of pools that are too many.
  Order highest(const GapPlacer& placer) const {
    std::vector<Pool> pools = problem_.pools;
    set_used_bytes(problem_.needs, placer.placements(), pools);
    const std::int64_t excess = placer.bytes() - goal_;
    Order top;
    for (const std::uint32_t i : by_size_) {
      const Placement& at = placer.placements()[i];
      const std::int64_t end = at.offset + problem_.needs[i].bytes;
      if (end > pools[static_cast<std::size_t>(at.pool)].bytes - excess) top.push_back(i);
    }
    return top;
  }

  // One need or two, mostly of those at the top, come earlier by a random way, or change turns with
  // any other.
  Order changed(const Tried& from) {
    Order order = from.order;
    for (unsigned moves = 1 + random_() % 2; moves > 0 && !order.empty(); --moves) {
      const bool any = from.top.empty() || random_() % 4 == 0;
      const Order& list = any ? from.order : from.top;
      const auto at = std::find(order.begin(), order.end(), list[random_() % list.size()]);
      if (random_() % 2 == 0) {
        std::iter_swap(at, order.begin() + random_place(order.size()));
      } else if (at != order.begin()) {
        const auto rank = static_cast<std::size_t>(at - order.begin());
        std::rotate(order.begin() + random_place(rank), at, at + 1);
      }
    }
    return order;
  }
  std::ptrdiff_t random_place(std::size_t count) {
    return static_cast<std::ptrdiff_t>(random_() % static_cast<unsigned>(count));
  }

  const Problem& problem_;
  const std::int64_t goal_;
  Order by_size_;
  std::size_t orders_left_ = 0;
  Tried best_;
  std::vector<Placement> placed_;  // of the best order
  std::optional<Diagnostic> without_room_;
  std::minstd_rand random_;  // the same numbers everywhere
};

Result<std::vector<Placement>> place_with_least_peak(const Problem& problem) {
  const Problem ranged = {with_ranges(problem), problem.pools};
  return LeastPeak(ranged).run();
}

}  // namespace

extern const Algorithm least_peak;
const Algorithm least_peak{
    .name = "least_peak",
    .summary = "several orders with gaps filled, until no plan can have fewer bytes",
    .place = place_with_least_peak,
};

}  // namespace tessera::plan
