// SPDX-License-Identifier: Apache-2.0
#include "plan/constants.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "plan/gap_placer.h"
#include "plan/rounding.h"
#include "tir/walk.h"
#include "types/target_list.h"

namespace tessera::plan {
namespace {

// Libraries are mapped by pages of at least so many bytes: an address of theirs is not known to be
// a multiple of more.
constexpr std::int64_t kMostAlignBytes = 4096;

void mark_used(const tir::Stmt& stmt, std::vector<bool>& used) {
  tir::for_each_node(stmt, [&](const tir::Stmt& s) {
    const auto* allocation = s.as<tir::AllocateConst>();
    if (allocation == nullptr) return;
    if (const auto* index = std::get_if<ConstantIndex>(&allocation->data))
      used[index->index()] = true;
  });
}

void mark_used(const Artifact& artifact, std::vector<bool>& used) {
  for (const NamedConstant& c : artifact.constants) used[c.index.index()] = true;
}

std::vector<bool> used_constants(const Module& module) {
  std::vector<bool> used(module.constants.size(), false);
  for (const auto& [name, f] : module.prim_funcs) mark_used(f.body, used);
  for (const KeptWeight& weight : module.kept_weights) used[weight.value.index()] = true;
  for (const Artifact& artifact : module.artifacts) mark_used(artifact, used);
  return used;
}

// Of the machine that reads them.
MemorySpace constant_space(const Module& module) {
  MemorySpace space = compute_space(module.targets);
  space.kind = MemoryKind::kConstant;
  return space;
}

Result<void> check_pool(const Pool& pool, const MemorySpace& space) {
  const auto wrong = [&](std::string finding, std::string remedy) {
    return fail(error(Code::kNotSupported, {}, "pool `{}` {}", pool.name, finding)
                    .with_remedy(std::move(remedy)));
  };
  if (pool.space != space) {
    return wrong(fmt::format("is in the memory space `{}`, and constants of this program lie in "
                             "`{}`",
                             to_string(pool.space), to_string(space)),
                 fmt::format("say space={} of it", to_string(space)));
  }
  if (pool.align_bytes > kMostAlignBytes) {
    return wrong(fmt::format("begins at a multiple of {} bytes, and constants of a library at one "
                             "of {} at most",
                             pool.align_bytes, kMostAlignBytes),
                 fmt::format("say align={} of it", kMostAlignBytes));
  }
  if (pool.targets.empty()) return {};
  return wrong("is for some targets, and constants are for all", "leave its targets out");
}

Result<std::vector<Pool>> constant_pools(const Module& module, std::span<const Pool> given) {
  const MemorySpace space = constant_space(module);
  std::vector<Pool> pools;
  for (const Pool& pool : given) {
    if (!is_for_constants(pool)) continue;
    TESSERA_TRY_VOID(check_pool(pool, space));
    pools.push_back(pool);
  }
  if (pools.empty()) pools.push_back({.name = "constants", .space = space});
  for (Pool& pool : pools) pool.align_bytes = std::max(pool.align_bytes, kConstantAlignBytes);
  return pools;
}

// Needs of some modules. A module's pool makes equal bytes one blob; those of two are told by their
// bytes.
class Needs {
 public:
  explicit Needs(ConstantPlan& plan) : plan_(plan) {}

  void add(const Module& module) {
    const std::vector<bool> used = used_constants(module);
    std::map<std::uint32_t, std::string> kept;
    for (const KeptWeight& weight : module.kept_weights) kept[weight.value.index()] = weight.name;
    std::map<const Blob*, std::int32_t> seen;
    auto& need_of = plan_.need_of.emplace_back(used.size(), -1);
    for (std::uint32_t i = 0; i < used.size(); ++i) {
      if (!used[i]) continue;
      const Blob& blob = *module.constants[ConstantIndex(i)].blob;
      const auto name = kept.find(i);
      const auto [known, is_new] = seen.emplace(&blob, -1);
      if (is_new) {
        known->second = of(blob, name != kept.end() ? name->second : fmt::format("constant {}", i));
      }
      need_of[i] = known->second;
    }
  }

 private:
  std::int32_t of(const Blob& blob, std::string name) {
    const auto count = static_cast<std::int32_t>(plan_.needs.size());
    const auto [known, is_new] =
        by_bytes_.emplace(std::pair(blob.hash(), blob.size_bytes()), count);
    if (!is_new) return known->second;
    plan_.needs.push_back({std::move(name),
                           static_cast<std::int64_t>(blob.size_bytes()),
                           kConstantAlignBytes,
                           {{0, 0}}});
    return count;
  }

  ConstantPlan& plan_;
  std::map<std::pair<Hash128, std::uint64_t>, std::int32_t> by_bytes_;
};

}  // namespace

Result<ConstantPlan> plan_constants(const Module& module, std::span<const Pool> pools) {
  const Module* const only[] = {&module};
  return plan_constants(only, pools);
}

std::vector<bool> constants_of(const Module& module, const tir::PrimFunc& program) {
  std::vector<bool> used(module.constants.size(), false);
  mark_used(program.body, used);
  tir::for_each_node(program.body, [&](const tir::Stmt& s) {
    const auto* call = s.as<tir::CallKernel>();
    if (call == nullptr) return;
    if (const auto f = module.prim_funcs.find(call->symbol); f != module.prim_funcs.end()) {
      mark_used(f->second.body, used);
    }
    const auto e = module.externs.find(call->symbol);
    if (e == module.externs.end() || e->second.artifact < 0) return;
    mark_used(module.artifacts[static_cast<std::size_t>(e->second.artifact)], used);
  });
  return used;
}

Result<ConstantPlan> plan_constants(std::span<const Module* const> modules,
                                    std::span<const Pool> pools) {
  ConstantPlan plan;
  TESSERA_TRY(plan.pools, constant_pools(*modules.front(), pools));
  Needs needs(plan);
  for (const Module* module : modules) needs.add(*module);
  return without_places_of({}, std::move(plan));
}

Result<ConstantPlan> without_places_of(const std::set<std::int32_t>& needs, ConstantPlan plan) {
  const Problem problem = {plan.needs, plan.pools};
  GapPlacer placer(problem);
  for (std::uint32_t i = 0; i < plan.needs.size(); ++i) {
    if (needs.contains(static_cast<std::int32_t>(i)) || placer.place(i)) continue;
    return fail(out_of_space(problem, i, placer.placements()));
  }
  plan.placements = placer.placements();
  set_used_bytes(plan.needs, plan.placements, plan.pools);
  plan.begins.clear();
  plan.bytes = 0;
  for (const Pool& pool : plan.pools) {
    plan.begins.push_back(round_up(plan.bytes, pool.align_bytes));
    if (pool.bytes > 0) plan.bytes = round_up(plan.begins.back() + pool.bytes, kConstantAlignBytes);
  }
  return plan;
}

}  // namespace tessera::plan
