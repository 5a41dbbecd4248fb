// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>

#include "plan/live_together.h"
#include "plan/plan.h"

namespace tessera::plan {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t align) {
  return (value + align - 1) / align * align;
}

// What is placed already in one pool, by offset.
struct Occupied {
  std::int64_t begin, end;
};

// The lowest aligned offset whose `bytes` miss all of `taken` (sorted by begin).
std::int64_t first_gap(const std::vector<Occupied>& taken, std::int64_t bytes, std::int64_t align) {
  std::int64_t offset = 0;
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
    for (const auto& p : placed_) out.push_back(p.value_or(Placement{}));
    return out;
  }

 private:
  bool place(std::size_t i) {
    const Need& need = needs_[i];
    const std::vector<std::size_t> others = done_.with(i);
    for (Pool& pool : pools_) {
      const std::int64_t offset = first_gap(taken_in(pool, others), need.bytes, need.align_bytes);
      const std::int64_t end = offset + need.bytes;
      if (pool.limit_bytes >= 0 && end > pool.limit_bytes) continue;
      placed_[i] = Placement{pool.name, offset};
      pool.bytes = std::max(pool.bytes, end);
      return true;
    }
    return false;
  }

  std::vector<Occupied> taken_in(const Pool& pool, const std::vector<std::size_t>& needs) const {
    std::vector<Occupied> taken;
    for (const std::size_t j : needs) {
      if (placed_[j]->pool != pool.name) continue;
      taken.push_back({placed_[j]->offset, placed_[j]->offset + needs_[j].bytes});
    }
    std::sort(taken.begin(), taken.end(),
              [](const Occupied& a, const Occupied& b) { return a.begin < b.begin; });
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
  std::vector<std::optional<Placement>> placed_;
  LiveTogether done_;
};

}  // namespace

Result<std::vector<Placement>> place_greedy_by_size(const std::vector<Need>& needs,
                                                    std::vector<Pool>& pools) {
  return Placer(needs, pools).run();
}

}  // namespace tessera::plan
