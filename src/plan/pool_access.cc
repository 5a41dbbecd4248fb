// SPDX-License-Identifier: Apache-2.0
#include "plan/pool_access.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plan/device.h"
#include "tir/walk.h"
#include "types/target_list.h"

namespace tessera::plan {
namespace {

using Users = std::vector<std::set<std::string>>;  // kinds of targets, by need

// The kind of target whose function it is.
std::string user_of(const Module& module, const std::string& symbol, const std::string& machine) {
  const auto found = module.externs.find(symbol);
  if (found == module.externs.end()) return machine;
  if (found->second.artifact >= 0) return found->second.backend;
  return computes_on_cpu(module, symbol) ? "cpu" : machine;
}

Users users_of(const tir::PrimFunc& main, const Module& module, const Liveness& liveness) {
  const std::string machine(to_string(compute_target(module.targets).device()));
  Users users(liveness.needs.size());
  tir::for_each_node(main.body, [&](const tir::Stmt& s) {
    const auto* call = s.as<tir::CallKernel>();
    if (call == nullptr) return;
    const std::string user = user_of(module, call->symbol, machine);
    const auto note = [&](const tir::Buffer& b) {
      const auto it = liveness.of_buffer.find(b.get());
      if (it != liveness.of_buffer.end()) users[it->second].insert(user);
    };
    for (const tir::Buffer& b : call->inputs) note(b);
    for (const tir::Buffer& b : call->outputs) note(b);
    const auto workspace = liveness.of_workspace.find(call->symbol);
    if (workspace != liveness.of_workspace.end()) users[workspace->second].insert(user);
  });
  return users;
}

bool serves(const Pool& pool, const std::set<std::string>& users) {
  return std::all_of(users.begin(), users.end(),
                     [&](const std::string& user) { return is_for(pool, user); });
}

Diagnostic wrong_space(const Pool& pool, const MemorySpace& wanted) {
  return error(Code::kNotSupported, {},
               "pool `{}` is in the memory space `{}`, and what this program computes lies in `{}`",
               pool.name, to_string(pool.space), to_string(wanted))
      .with_remedy(fmt::format("say space={} of it", to_string(wanted)));
}

Diagnostic no_pool(const Need& need, const std::set<std::string>& users) {
  return error(Code::kNotSupported, {},
               "no memory pool is for `{}` ({} bytes), which functions of {} use", need.name,
               need.bytes, fmt::join(users, ", "))
      .with_remedy("add these to the targets of a pool, or add a pool without targets");
}

}  // namespace

Result<Problem> problem_of(const tir::PrimFunc& main, const Module& module,
                           const Liveness& liveness, const std::vector<Pool>& pools) {
  Problem problem = {liveness.needs, pools};
  std::erase_if(problem.pools, is_for_constants);
  const MemorySpace space = compute_space(module.targets);
  if (problem.pools.empty()) problem.pools = {{.space = space}};
  Diagnostics errors;
  for (const Pool& pool : problem.pools) {
    if (pool.space != space) errors.add(wrong_space(pool, space));
  }
  if (!errors.empty()) return fail(std::move(errors));
  for (const Need& need : problem.needs) {
    for (Pool& pool : problem.pools) {
      pool.align_bytes = std::max(pool.align_bytes, need.align_bytes);
    }
  }
  const bool all_alike = std::all_of(problem.pools.begin(), problem.pools.end(),
                                     [](const Pool& p) { return p.targets.empty(); });
  if (all_alike) return problem;
  const Users users = users_of(main, module, liveness);
  for (std::size_t i = 0; i < problem.needs.size(); ++i) {
    Need& need = problem.needs[i];
    for (std::size_t p = 0; p < problem.pools.size(); ++p) {
      if (serves(problem.pools[p], users[i])) need.pools.push_back(static_cast<std::int32_t>(p));
    }
    if (need.pools.empty() && need.bytes >= 0) errors.add(no_pool(need, users[i]));
  }
  if (!errors.empty()) return fail(std::move(errors));
  return problem;
}

}  // namespace tessera::plan
