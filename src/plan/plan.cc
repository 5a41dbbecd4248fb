// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "plan/liveness.h"

namespace tessera::plan {
namespace {

std::int64_t pressure(const std::vector<Need>& needs) {
  std::map<std::int64_t, std::int64_t> change;  // by tick
  for (const Need& need : needs) {
    for (const TickRange& range : need.live) {
      change[range.first] += need.bytes;
      change[range.last + 1] -= need.bytes;
    }
  }
  std::int64_t live = 0, most = 0;
  for (const auto& [tick, bytes] : change) most = std::max(most, live += bytes);
  return most;
}

}  // namespace

Result<MemoryPlan> plan_memory(const tir::PrimFunc& main, const Module& module) {
  TESSERA_TRY(Liveness liveness, compute_liveness(main, module));
  MemoryPlan plan;
  plan.pools.push_back({});
  TESSERA_TRY(plan.placements, place_greedy_by_size(liveness.needs, plan.pools));
  for (const auto& [buffer, index] : liveness.of_buffer) {
    plan.buffers.emplace(buffer, plan.placements[index]);
  }
  for (const auto& [symbol, index] : liveness.of_workspace) {
    plan.workspaces.emplace(symbol, plan.placements[index]);
  }
  plan.pressure_bytes = pressure(liveness.needs);
  plan.needs = std::move(liveness.needs);
  return plan;
}

std::string print_plan(const MemoryPlan& plan) {
  std::string out;
  for (const Pool& p : plan.pools) {
    out += fmt::format("pool {} {} bytes; at most {} bytes live at once\n", p.name, p.bytes,
                       plan.pressure_bytes);
  }
  for (std::size_t i = 0; i < plan.needs.size(); ++i) {
    const Need& need = plan.needs[i];
    const Placement& at = plan.placements[i];
    out += fmt::format("{} offset {} bytes {} {} ticks", at.pool, at.offset, need.bytes, need.name);
    for (const TickRange& r : need.live) out += fmt::format(" {}..{}", r.first, r.last);
    out += '\n';
  }
  return out;
}

}  // namespace tessera::plan
