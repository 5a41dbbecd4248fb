// SPDX-License-Identifier: Apache-2.0
// Relay-spec 8.8, stages 3 and 4: the allocations of `main` and of what it calls get their pool and
// their place there.
#include <algorithm>

#include "passes/pass.h"
#include "plan/algorithm.h"
#include "plan/liveness.h"
#include "plan/whole_program.h"

namespace tessera::plan {
namespace {

struct PlanMemoryOptions {
  std::string algorithm;
  static constexpr auto fields =
      std::tuple{relay::attr("algorithm", &PlanMemoryOptions::algorithm)};
};

Result<std::int32_t> index_of(const std::vector<Pool>& pools, const std::string& name,
                              const tir::BufferNode& buffer) {
  const auto found =
      std::find_if(pools.begin(), pools.end(), [&](const Pool& p) { return p.name == name; });
  if (found != pools.end() && is_in(*found, buffer)) {
    return static_cast<std::int32_t>(found - pools.begin());
  }
  if (found != pools.end()) {
    return fail(error(Code::kNotSupported, {},
                      "`{}` is in the memory space `{}`, and its pool `{}` in `{}`", buffer.name,
                      to_string(*buffer.space), name, to_string(found->space))
                    .with_remedy("give it pools of its own memory space"));
  }
  return fail(error(Code::kUnknownName, {}, "`{}` may lie in the pool `{}`, which is not declared",
                    buffer.name, name)
                  .with_remedy("declare the pool with assign-pools"));
}

// The needs that have pools; all others stay where they are.
Result<Problem> planned_needs(const Module& module, const std::vector<std::string>& functions,
                              const Liveness& liveness) {
  TESSERA_TRY(std::vector<Pool> pools, pools_of(module));
  Problem problem = {liveness.needs, std::move(pools)};
  std::vector<bool> is_planned(problem.needs.size());
  Diagnostics errors;
  for (const std::string& name : functions) {
    for_each_allocation(module.prim_funcs.at(name).body, [&](const tir::Buffer& b) {
      const auto need = liveness.of_buffer.find(b.get());
      if (need == liveness.of_buffer.end()) return;
      is_planned[need->second] = !b->pools.empty();
      for (const std::string& pool : b->pools) {
        auto index = index_of(problem.pools, pool, *b);
        if (!index) return errors.add(std::move(index).error());
        problem.needs[need->second].pools.push_back(*index);
      }
    });
  }
  if (!errors.empty()) return fail(std::move(errors));
  for (std::size_t i = 0; i < is_planned.size(); ++i) {
    if (!is_planned[i]) problem.needs[i].bytes = -1;
  }
  return problem;
}

// What nothing else places is said of the program.
Diagnostics at(const tir::PrimFunc& main, Diagnostics errors) {
  for (Diagnostic& d : errors.list) {
    if (!d.location && !main.sources.empty()) d.location = main.sources.front();
  }
  return errors;
}

// What the function allocates, with the place that it has.
void put_down(tir::PrimFunc& f, const Liveness& liveness, const Problem& problem,
              const std::vector<Placement>& placements) {
  tir::BufferMap buffers;
  for_each_allocation(f.body, [&](const tir::Buffer& b) {
    const auto found = liveness.of_buffer.find(b.get());
    if (found == liveness.of_buffer.end() || problem.needs[found->second].bytes < 0) return;
    const Placement& at = placements[found->second];
    auto* node = new tir::BufferNode(*b);
    buffers[b.get()] = tir::Buffer(node);
    node->pools = {problem.pools[static_cast<std::size_t>(at.pool)].name};
    node->offset_bytes = at.offset;
  });
  f.body = with_buffers(f.body, buffers);
}

Result<Module> run_plan_memory(Module module, passes::PassContext& context) {
  const auto options = relay::read_attrs<PlanMemoryOptions>(context.options);
  TESSERA_TRY(const Algorithm* algorithm, find_algorithm(options.algorithm));
  TESSERA_TRY(const auto functions, called_functions(module, "plan-memory"));
  const tir::PrimFunc& main = module.prim_funcs.at("main");
  const Liveness liveness = compute_liveness_of_all(main, module);
  const Result<Problem> problem = planned_needs(module, functions, liveness);
  if (!problem) return fail(at(main, problem.error()));
  const Result<std::vector<Placement>> placements = algorithm->place(*problem);
  if (!placements) return fail(at(main, placements.error()));
  for (const std::string& name : functions) {
    put_down(module.prim_funcs.at(name), liveness, *problem, *placements);
  }
  return module;
}

}  // namespace

extern const passes::Pass plan_memory;
const passes::Pass plan_memory{
    .name = "plan-memory",
    .summary = "gives each allocation that may lie in pools its place in one of them",
    .options = relay::attr_schema<PlanMemoryOptions>,
    .run = run_plan_memory,
};

}  // namespace tessera::plan
