// SPDX-License-Identifier: Apache-2.0
#include "lower/loop_constants.h"
#include "passes/pass.h"

namespace tessera::lower {
namespace {

Result<Module> run_extract_constants(Module module, passes::PassContext&) {
  for (auto& [name, f] : module.prim_funcs) {
    // Indices follow the text, so the pool gets them before anything is mapped.
    for (const LoopConstant& c : constant_definitions(f.body)) {
      if (const auto* tensor = std::get_if<Tensor>(&c.data)) module.constants.add(*tensor);
    }
    f.body = map_constants(f.body, [&](const tir::AllocateConst& c, const tir::Stmt& scope) {
      const auto* tensor = std::get_if<Tensor>(&c.data);
      const ConstantValue data = tensor != nullptr ? module.constants.add(*tensor) : c.data;
      return tir::AllocateConst::make(c.buffer, data, scope);
    });
  }
  return module;
}

}  // namespace

extern const passes::Pass extract_constants;
const passes::Pass extract_constants{
    .name = "extract-constants",
    .summary = "moves the constants of loop functions into the module's pool, equal ones once",
    .needs_types = false,
    .run = run_extract_constants,
};

}  // namespace tessera::lower
