// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "plan/algorithm.h"
#include "plan/in_place.h"
#include "plan/liveness.h"
#include "plan/pool_access.h"
#include "plan/workspace_dims.h"
#include "types/target_list.h"

namespace tessera::plan {
namespace {

using tir::Buffer;

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

Diagnostic no_bound(const Buffer& port) {
  return error(Code::kNotSupported, {},
               "`{}` has no place in a memory pool: its size has no bound that could be reserved",
               port->name)
      .with_remedy("bound its dimensions (--dim \"n=1..64\"), or compile without --pool-io");
}

// What has places beside what the program computes, if that is asked for.
Result<Ports> placed_ports(const tir::PrimFunc& main, const Module& module,
                           const PlanOptions& options) {
  if (!options.places_ports) return Ports{};
  if (is_on_host(compute_space(module.targets))) return ports_of(main, module);
  return fail(error(Code::kNotSupported, {},
                    "inputs and outputs have places in pools in programs for a CPU alone")
                  .with_remedy("compile without --pool-io"));
}

Result<void> place_ports(const Ports& ports, const Liveness& liveness, MemoryPlan& plan) {
  for (const auto& list : {ports.inputs, ports.outputs}) {
    for (const Buffer& port : list) {
      const std::size_t need = liveness.of_buffer.at(port.get());
      if (liveness.needs[need].bytes < 0) return fail(no_bound(port));
      plan.ports[port.get()] = {plan.placements[need], liveness.needs[need].bytes};
      plan.buffers.erase(port.get());
    }
  }
  return {};
}

}  // namespace

Result<MemoryPlan> make_plan(const tir::PrimFunc& main, const Module& module,
                             const PlanOptions& options) {
  TESSERA_TRY(const Algorithm* algorithm, find_algorithm(options.algorithm));
  TESSERA_TRY(const Ports ports, placed_ports(main, module, options));
  Liveness liveness = compute_liveness(main, module, ports);
  share_in_place(main, module, liveness);
  MemoryPlan plan;
  TESSERA_TRY(plan.workspace_dims, workspace_dims(main, module));
  const std::vector<int> slots = share_heap(liveness.needs, plan.heap_count);
  TESSERA_TRY(Problem problem, problem_of(main, module, liveness, options.pools));
  TESSERA_TRY(plan.placements, algorithm->place(problem));
  set_used_bytes(problem.needs, plan.placements, problem.pools);
  plan.pools = std::move(problem.pools);
  for (const auto& [buffer, index] : liveness.of_buffer) {
    if (liveness.needs[index].bytes < 0) {
      plan.heap.emplace(buffer, slots[index]);
    } else {
      plan.buffers.emplace(buffer, plan.placements[index]);
    }
  }
  TESSERA_TRY_VOID(place_ports(ports, liveness, plan));
  for (const auto& [symbol, index] : liveness.of_workspace) {
    plan.workspaces.emplace(symbol, plan.placements[index]);
  }
  plan.pressure_bytes = pressure(liveness.needs);
  plan.needs = std::move(liveness.needs);
  return plan;
}

std::int64_t pool_bytes(const MemoryPlan& plan) {
  std::int64_t bytes = 0;
  for (const Pool& pool : plan.pools) bytes += pool.bytes;
  return bytes;
}

namespace {

// What makes the peak, in a line.
std::string peak_text(const MemoryPlan& plan) {
  constexpr std::size_t kMostNames = 8;
  const Peak peak = peak_of(plan.needs);
  std::string out = fmt::format("at most {} bytes live at once", plan.pressure_bytes);
  for (std::size_t i = 0; i < std::min(peak.needs.size(), kMostNames); ++i) {
    const Need& need = plan.needs[peak.needs[i]];
    out += i == 0 ? fmt::format(", in statement {}: ", peak.tick) : ", ";
    out += fmt::format("{} {}", need.name, need.bytes);
  }
  if (peak.needs.size() > kMostNames) {
    out += fmt::format(" and {} more", peak.needs.size() - kMostNames);
  }
  return out + "\n";
}

std::string pool_text(const Pool& p) {
  const std::string where =
      p.space == MemorySpace() ? "" : fmt::format(" on {}", to_string(p.space));
  const std::string limit = p.limit_bytes < 0 ? "" : fmt::format(" of {}", p.limit_bytes);
  return fmt::format("pool {}{} {}{} bytes\n", p.name, where, p.bytes, limit);
}

std::string place_text(const std::vector<Pool>& pools, const Need& need, const Placement& at) {
  return fmt::format("{} offset {} bytes {} {}", pools[static_cast<std::size_t>(at.pool)].name,
                     at.offset, need.bytes, need.name);
}

}  // namespace

std::string print_plan(const MemoryPlan& plan) {
  std::string out;
  for (const Pool& p : plan.pools) out += pool_text(p);
  for (const Pool& p : plan.constants.pools) {
    if (p.bytes > 0) out += pool_text(p);
  }
  out += peak_text(plan);
  for (std::size_t i = 0; i < plan.needs.size(); ++i) {
    const Need& need = plan.needs[i];
    out += need.bytes < 0 ? "heap " + need.name : place_text(plan.pools, need, plan.placements[i]);
    out += " ticks";
    for (const TickRange& r : need.live) out += fmt::format(" {}..{}", r.first, r.last);
    out += '\n';
  }
  const ConstantPlan& constants = plan.constants;
  for (std::size_t i = 0; i < constants.needs.size(); ++i) {
    if (!constants.has_place(i)) continue;
    out += place_text(constants.pools, constants.needs[i], constants.placements[i]) + '\n';
  }
  return out;
}

}  // namespace tessera::plan
