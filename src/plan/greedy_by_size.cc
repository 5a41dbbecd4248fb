// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <numeric>

#include "plan/live_together.h"
#include "plan/plan.h"

namespace tessera::plan {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t align) {
  return (value + align - 1) / align * align;
}

// Where something is placed; nowhere yet without a pool.
struct Occupied {
  std::ptrdiff_t pool = -1;  // its number
  std::int64_t begin = 0, end = 0;
};

// Among more than these no gap is looked for: where thousands live at once (all steps of an
// unrolled recurrence), looking takes the square of their number, and there are few gaps.
constexpr std::size_t kMostSearched = 2048;

// The lowest aligned offset whose `bytes` miss all of `taken`, or one behind all of very many.
std::int64_t first_gap(std::vector<Occupied> taken, std::int64_t bytes, std::int64_t align) {
  std::int64_t offset = 0;
  if (taken.size() > kMostSearched) {
    for (const Occupied& o : taken) offset = std::max(offset, o.end);
    return round_up(offset, align);
  }
  std::sort(taken.begin(), taken.end(),
            [](const Occupied& a, const Occupied& b) { return a.begin < b.begin; });
  for (const Occupied& o : taken) {
    if (offset + bytes <= o.begin) break;
    offset = std::max(offset, round_up(o.end, align));
  }
  return offset;
}

class Placer {
 public:
  Placer(const std::vector<Need>& needs, std::vector<Pool>& pools)
      : needs_(needs), pools_(pools), placed_(needs.size()), done_(needs) {}

  Result<std::vector<Placement>> run() {
    std::vector<std::size_t> order(needs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const Need &x = needs_[a], &y = needs_[b];
      return x.bytes != y.bytes ? x.bytes > y.bytes : x.name < y.name;
    });
    for (const std::size_t i : order) {
      if (needs_[i].bytes < 0) continue;  // in the heap
      if (!place(i)) return fail(out_of_space(needs_[i]));
      done_.add(i);
    }
    std::vector<Placement> out;
    for (const Occupied& o : placed_) {
      out.push_back(o.pool < 0 ? Placement{} : Placement{pools_[o.pool].name, o.begin});
    }
    return out;
  }

 private:
  bool place(std::size_t i) {
    const Need& need = needs_[i];
    const std::vector<std::size_t> others = done_.with(i);
    for (std::ptrdiff_t number = 0; number < std::ssize(pools_); ++number) {
      Pool& pool = pools_[number];
      const std::int64_t offset = first_gap(taken_in(number, others), need.bytes, need.align_bytes);
      const std::int64_t end = offset + need.bytes;
      if (pool.limit_bytes >= 0 && end > pool.limit_bytes) continue;
      placed_[i] = {number, offset, end};
      pool.bytes = std::max(pool.bytes, end);
      return true;
    }
    return false;
  }

  std::vector<Occupied> taken_in(std::ptrdiff_t pool, const std::vector<std::size_t>& needs) const {
    std::vector<Occupied> taken;
    for (const std::size_t j : needs) {
      if (placed_[j].pool == pool) taken.push_back(placed_[j]);
    }
    return taken;
  }

  Diagnostic out_of_space(const Need& need) const {
    return error(Code::kNotSupported, {},
                 "no memory pool has room for `{}` ({} bytes): every pool has a limit", need.name,
                 need.bytes)
        .with_remedy("raise the limit of a pool, or add one without limit");
  }

  const std::vector<Need>& needs_;
  std::vector<Pool>& pools_;
  std::vector<Occupied> placed_;
  LiveTogether done_;
};

}  // namespace

Result<std::vector<Placement>> place_greedy_by_size(const std::vector<Need>& needs,
                                                    std::vector<Pool>& pools) {
  return Placer(needs, pools).run();
}

}  // namespace tessera::plan
