// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "plan/liveness.h"
#include "plan/workspace_dims.h"
#include "types/target_list.h"

namespace tessera::plan {
namespace {

std::int64_t pressure(const std::vector<Need>& needs) {
  std::map<std::int64_t, std::int64_t> change;  // by tick
  for (const Need& need : needs) {
    for (const TickRange& range : need.live) {
      change[range.first] += std::max<std::int64_t>(need.bytes, 0);
      change[range.last + 1] -= std::max<std::int64_t>(need.bytes, 0);
    }
  }
  std::int64_t live = 0, most = 0;
  for (const auto& [tick, bytes] : change) most = std::max(most, live += bytes);
  return most;
}

}  // namespace

namespace {

// The buffer's own allocations in order of the program; views share their source's.
std::vector<int> share_heap(const std::vector<Need>& needs, int& count) {
  std::vector<int> slots(needs.size(), -1);
  std::vector<std::int64_t> busy_until;  // by slot
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (needs[i].bytes >= 0) continue;
    const bool used = !needs[i].live.empty();
    std::size_t slot = 0;
    while (used && slot < busy_until.size() && busy_until[slot] >= needs[i].live.front().first) {
      ++slot;
    }
    if (slot == busy_until.size()) busy_until.push_back(0);
    if (used) busy_until[slot] = needs[i].live.back().last;
    slots[i] = static_cast<int>(slot);
  }
  count = static_cast<int>(busy_until.size());
  return slots;
}

}  // namespace

Result<MemoryPlan> plan_memory(const tir::PrimFunc& main, const Module& module) {
  Liveness liveness = compute_liveness(main, module);
  MemoryPlan plan;
  TESSERA_TRY(plan.workspace_dims, workspace_dims(main, module));
  plan.pools.push_back({});
  plan.pools.back().device = compute_target(module.targets).device();
  const std::vector<int> slots = share_heap(liveness.needs, plan.heap_count);
  TESSERA_TRY(plan.placements, place_greedy_by_size(liveness.needs, plan.pools));
  for (const auto& [buffer, index] : liveness.of_buffer) {
    if (liveness.needs[index].bytes < 0) {
      plan.heap.emplace(buffer, slots[index]);
    } else {
      plan.buffers.emplace(buffer, plan.placements[index]);
    }
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
    const std::string where =
        p.device == DeviceType::kCpu ? "" : fmt::format(" on {}", to_string(p.device));
    out += fmt::format("pool {}{} {} bytes; at most {} bytes live at once\n", p.name, where,
                       p.bytes, plan.pressure_bytes);
  }
  for (std::size_t i = 0; i < plan.needs.size(); ++i) {
    const Need& need = plan.needs[i];
    const Placement& at = plan.placements[i];
    out += need.bytes < 0 ? fmt::format("heap {} ticks", need.name)
                          : fmt::format("{} offset {} bytes {} {} ticks", at.pool, at.offset,
                                        need.bytes, need.name);
    for (const TickRange& r : need.live) out += fmt::format(" {}..{}", r.first, r.last);
    out += '\n';
  }
  return out;
}

}  // namespace tessera::plan
