// SPDX-License-Identifier: Apache-2.0
#include "byoc/share_functions.h"

#include "byoc/compiler_functions.h"
#include "byoc/global_symbols.h"
#include "relay/rewrite.h"

namespace tessera::byoc {

using relay::Copier;
using relay::Function;
using relay::NodeId;

Shared share_equal_functions(Module module, std::string_view compiler) {
  Shared out;
  std::map<std::string, std::string> first;  // function by shared symbol
  SharedGlobalSymbols symbols([](const Function&) { return "shared"; }, module);
  for (const std::string& name : compiler_functions(module, compiler)) {
    // This cache answers every function.
    const std::string symbol = symbols.symbol_of(module.functions.at(name)).value();
    const auto [it, added] = first.emplace(symbol, name);
    if (!added) out.replaced.emplace(name, it->second);
  }
  for (const auto& [name, by] : out.replaced) module.functions.erase(name);
  const auto refers = [&](const Function& f) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const auto* global = f.as<relay::GlobalRef>(NodeId{i});
      if (global != nullptr && out.replaced.contains(global->name)) return true;
    }
    return false;
  };
  for (auto& [name, f] : module.functions) {
    if (out.replaced.empty() || !refers(f)) continue;
    f = relay::rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
      const auto* global = f.as<relay::GlobalRef>(id);
      const auto by = global != nullptr ? out.replaced.find(global->name) : out.replaced.end();
      if (by == out.replaced.end()) return std::nullopt;
      const NodeId fresh = c.builder().global(by->second);
      c.builder().set_type(fresh, f.type(id));
      return fresh;
    });
  }
  out.module = std::move(module);
  return out;
}

}  // namespace tessera::byoc
