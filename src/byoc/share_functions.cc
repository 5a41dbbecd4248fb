// SPDX-License-Identifier: Apache-2.0
#include "byoc/share_functions.h"

#include "byoc/compiler_functions.h"
#include "byoc/global_symbols.h"
#include "relay/rewrite.h"

namespace tessera::byoc {

using relay::Copier;
using relay::Function;
using relay::NodeId;

namespace {

// The function with references to `by` in place of those to the names.
Function redirected(Function f, const std::map<std::string, std::string>& by) {
  bool refers = false;
  for (std::size_t i = 0; i < f.num_nodes() && !refers; ++i) {
    const auto* global = f.as<relay::GlobalRef>(NodeId{i});
    refers = global != nullptr && by.contains(global->name);
  }
  if (!refers) return f;
  return relay::rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
    const auto* global = f.as<relay::GlobalRef>(id);
    const auto found = global != nullptr ? by.find(global->name) : by.end();
    if (found == by.end()) return std::nullopt;
    const NodeId fresh = c.builder().global(found->second);
    c.builder().set_type(fresh, f.type(id));
    return fresh;
  });
}

}  // namespace

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
  for (auto& [name, f] : module.functions) f = redirected(std::move(f), out.replaced);
  out.module = std::move(module);
  return out;
}

}  // namespace tessera::byoc
