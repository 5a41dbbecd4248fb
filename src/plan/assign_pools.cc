// SPDX-License-Identifier: Apache-2.0
// Relay-spec 8.8, stage 2: each allocation gets the pools that its function's target may use.
#include <fmt/format.h>

#include "passes/pass.h"
#include "plan/whole_program.h"
#include "types/target_list.h"

namespace tessera::plan {
namespace {

struct AssignOptions {
  std::vector<std::string> pools;
  static constexpr auto fields = std::tuple{relay::attr("pools", &AssignOptions::pools)};
};

// The kind of target that the function is for: its own, or the machine of the compilation.
std::string target_of(const tir::PrimFunc& f, const std::vector<Target>& targets) {
  const auto own = f.attrs.find("target");
  return own != f.attrs.end() ? own->second
                              : std::string(to_string(compute_target(targets).device()));
}

std::vector<std::string> names_for(const std::vector<Pool>& pools, const tir::Buffer& buffer,
                                   const std::string& target) {
  std::vector<std::string> names;
  for (const Pool& pool : pools) {
    const bool suits = is_for(pool, target) && is_in(pool, *buffer) && !is_for_constants(pool);
    if (suits) names.push_back(pool.name);
  }
  return names;
}

Diagnostic no_pool(const tir::PrimFunc& f, const std::string& name, const tir::Buffer& buffer,
                   const std::string& target) {
  const std::string where =
      buffer->space ? fmt::format(" in the memory space `{}`", to_string(*buffer->space)) : "";
  return error(Code::kNotSupported, f.sources.empty() ? nullptr : f.sources.front(),
               "`@{}` allocates `{}`{}, and no pool {}is for functions of {}", name, buffer->name,
               where, buffer->space ? "there " : "", target)
      .with_remedy(fmt::format("add the target to a pool{0}, or a pool{0} without targets",
                               buffer->space ? " there" : ""));
}

// Those given, else those that the text has, else one that everything may use.
Result<std::vector<Pool>> wanted_pools(const AssignOptions& options, const Module& module) {
  if (!options.pools.empty()) return parse_pools(options.pools);
  TESSERA_TRY(std::vector<Pool> pools, pools_of(module));
  if (pools.empty()) pools.push_back({.name = "global_workspace"});
  return pools;
}

Result<void> assign(tir::PrimFunc& f, const std::string& name, const std::vector<Pool>& pools,
                    const std::string& target) {
  tir::BufferMap buffers;
  Diagnostics errors;
  for_each_allocation(f.body, [&](const tir::Buffer& b) {
    if (!b->pools.empty()) return;
    auto* node = new tir::BufferNode(*b);
    buffers[b.get()] = tir::Buffer(node);
    node->pools = names_for(pools, b, target);
    if (node->pools.empty()) errors.add(no_pool(f, name, b, target));
  });
  if (!errors.empty()) return fail(std::move(errors));
  f.body = with_buffers(f.body, buffers);
  return {};
}

Result<Module> run_assign_pools(Module module, passes::PassContext& context) {
  const auto options = relay::read_attrs<AssignOptions>(context.options);
  TESSERA_TRY(const auto functions, called_functions(module, "assign-pools"));
  TESSERA_TRY(const std::vector<Pool> pools, wanted_pools(options, module));
  for (const std::string& name : functions) {
    tir::PrimFunc& f = module.prim_funcs.at(name);
    TESSERA_TRY_VOID(assign(f, name, pools, target_of(f, module.targets)));
  }
  module.prim_funcs.at("main").attrs[kPoolsAttr] = pools_text(pools);
  return module;
}

}  // namespace

extern const passes::Pass assign_pools;
const passes::Pass assign_pools{
    .name = "assign-pools",
    .summary = "says of each allocation of loop functions in which memory pools it may lie",
    .options = relay::attr_schema<AssignOptions>,
    .run = run_assign_pools,
};

}  // namespace tessera::plan
