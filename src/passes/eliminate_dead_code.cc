// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "passes/pass.h"
#include "relay/function_attributes.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::NodeId;

// By node index: does a result depend on it? Unlike relay::live_nodes, a `let` counts by its uses
// alone. One sweep from the back suffices: regions lie before their owners.
std::vector<bool> used_nodes(const relay::Function& f) {
  std::vector<bool> used(f.num_nodes(), false);
  used[f.result().index()] = true;
  for (std::size_t i = f.num_nodes(); i-- > 0;) {
    if (!used[i]) continue;
    const NodeId id(i);
    for (const NodeId operand : f.operands(id)) used[operand.index()] = true;
    if (const auto* literal = f.as<relay::Literal>(id)) {
      used[f.region(literal->body).result.index()] = true;
    } else if (const auto* branch = f.as<relay::If>(id)) {
      used[f.region(branch->then_region).result.index()] = true;
      used[f.region(branch->else_region).result.index()] = true;
    }
  }
  return used;
}

relay::Function without_unused(const relay::Function& f) {
  const std::vector<bool> used = used_nodes(f);
  return relay::rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
    if (f.as<relay::Let>(id) == nullptr || used[id.index()]) return std::nullopt;
    return c.map(f.operands(id)[0]);
  });
}

// Marks the functions that `name` reaches through references.
void mark_reachable(const Module& module, const std::string& name, std::set<std::string>& reached) {
  std::vector<std::string> open = {name};
  while (!open.empty()) {
    const auto it = module.functions.find(open.back());
    open.pop_back();
    if (it == module.functions.end() || !reached.insert(it->first).second) continue;
    for (std::size_t i = 0; i < it->second.num_nodes(); ++i) {
      if (const auto* global = it->second.as<relay::GlobalRef>(NodeId(i)))
        open.push_back(global->name);
    }
  }
}

// Private: nobody outside the module knows the name.
bool is_private(const std::string& name, const relay::Function& f) {
  return name != "main" && f.attrs.find("Compiler") == nullptr &&
         f.attrs.int_or_zero("Extern") == 0 && f.attrs.int_or_zero(relay::kEntryPoint) == 0;
}

Result<Module> run_eliminate_dead_code(Module module, PassContext&) {
  module = map_optimizable(std::move(module), [](const relay::Function& f, const ConstantPool&) {
    return without_unused(f);
  });
  std::set<std::string> reached;
  for (const auto& [name, function] : module.functions) {
    if (!is_private(name, function)) mark_reachable(module, name, reached);
  }
  // A module without any entry is a library of functions: all of them stay.
  if (reached.empty()) return module;
  std::erase_if(module.functions,
                [&](const auto& entry) { return !reached.contains(entry.first); });
  return module;
}

}  // namespace

extern const Pass eliminate_dead_code;
const Pass eliminate_dead_code{
    .name = "eliminate-dead-code",
    .summary =
        "removes nodes that no result depends on, unused lets and unreferenced private globals",
    .needs_types = false,
    .run = run_eliminate_dead_code,
};

}  // namespace tessera::passes
