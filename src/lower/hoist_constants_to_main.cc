// SPDX-License-Identifier: Apache-2.0
#include "lower/loop_calls.h"
#include "lower/loop_constants.h"
#include "ops/inference/infer_types.h"
#include "passes/pass.h"

namespace tessera::lower {
namespace {

// Takes the constants out of a function: they are inputs after the others.
std::vector<ConstantIndex> take_constants(tir::PrimFunc& f, ConstantPool& pool) {
  std::vector<ConstantIndex> taken;
  for (const LoopConstant& c : constant_definitions(f.body)) {
    const auto* tensor = std::get_if<Tensor>(&c.data);
    taken.push_back(tensor != nullptr ? pool.add(*tensor) : std::get<ConstantIndex>(c.data));
    f.inputs.push_back(c.buffer);
  }
  f.body = map_constants(f.body,
                         [](const tir::AllocateConst&, const tir::Stmt& scope) { return scope; });
  return taken;
}

Result<Module> run_hoist_constants_to_main(Module module, passes::PassContext&) {
  std::map<std::string, InputChange> changes;
  for (const auto& [symbol, calls] : calls_of_loops(module)) {
    tir::PrimFunc& f = module.prim_funcs.at(symbol);
    const std::vector<bool> none_leaves(f.inputs.size());
    const std::vector<ConstantIndex> taken = take_constants(f, module.constants);
    if (taken.empty()) continue;
    changes[symbol] = {none_leaves, [taken](const GivenConstants&) { return taken; }};
  }
  return ops::infer_types(change_calls(std::move(module), changes));
}

}  // namespace

extern const passes::Pass hoist_constants_to_main;
const passes::Pass hoist_constants_to_main{
    .name = "hoist-constants-to-main",
    .summary = "makes inputs of the constants of loop functions, which their callers then define",
    .run = run_hoist_constants_to_main,
};

}  // namespace tessera::lower
