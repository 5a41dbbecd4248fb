// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>

#include "plan/occupancy.h"
#include "plan/plan.h"

namespace tessera::plan {
namespace {

class Placer {
 public:
  Placer(const std::vector<Need>& needs, std::vector<Pool>& pools)
      : needs_(needs),
        pools_(pools),
        placed_(needs.size()),
        taken_(pools.size(), Occupancy(needs)) {}

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
    }
    std::vector<Placement> out;
    for (const auto& p : placed_) out.push_back(p.value_or(Placement{}));
    return out;
  }

 private:
  bool place(std::size_t i) {
    const Need& need = needs_[i];
    for (std::size_t p = 0; p < pools_.size(); ++p) {
      Pool& pool = pools_[p];
      const std::int64_t offset = taken_[p].first_gap(need);
      const std::int64_t end = offset + need.bytes;
      if (pool.limit_bytes >= 0 && end > pool.limit_bytes) continue;
      placed_[i] = Placement{pool.name, offset};
      pool.bytes = std::max(pool.bytes, end);
      taken_[p].add(need, offset);
      return true;
    }
    return false;
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
  std::vector<Occupancy> taken_;  // by pool
};

}  // namespace

Result<std::vector<Placement>> place_greedy_by_size(const std::vector<Need>& needs,
                                                    std::vector<Pool>& pools) {
  return Placer(needs, pools).run();
}

}  // namespace tessera::plan
