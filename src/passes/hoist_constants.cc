// SPDX-License-Identifier: Apache-2.0
#include "passes/pass.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

relay::Function hoist(const relay::Function& f, ConstantPool& pool) {
  return relay::rewrite(f, [&](relay::Copier& c, relay::NodeId id) -> std::optional<relay::NodeId> {
    const auto* constant = f.as<relay::Constant>(id);
    if (constant == nullptr) return std::nullopt;
    const Tensor* tensor = std::get_if<Tensor>(&constant->value);
    if (tensor == nullptr) return std::nullopt;
    const relay::NodeId fresh = c.builder().constant(ConstantValue(pool.add(*tensor)));
    c.builder().set_type(fresh, f.type(id));
    return fresh;
  });
}

Result<Module> run_hoist_constants(Module module, PassContext&) {
  // The body of an extern is kept for its shapes alone; its data stand in the artifact.
  for (auto& [name, function] : module.functions) {
    if (function.attrs.int_or_zero("Extern") == 0) function = hoist(function, module.constants);
  }
  return module;
}

}  // namespace

extern const Pass hoist_constants;
const Pass hoist_constants{
    .name = "hoist-constants",
    .summary = "moves immediate constants into the module's pool, equal ones once",
    .needs_types = false,
    .run = run_hoist_constants,
};

}  // namespace tessera::passes
