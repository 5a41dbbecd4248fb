// SPDX-License-Identifier: Apache-2.0
#include "byoc/callees.h"

#include <algorithm>

#include "byoc/outline.h"
#include "relay/evaluation_order.h"

namespace tessera::byoc {

using relay::Function;
using relay::NodeId;

bool is_only_called(const Function& f, const relay::Uses& uses, NodeId callee) {
  std::vector<NodeId> names{callee};
  while (!names.empty()) {
    const NodeId name = names.back();
    names.pop_back();
    if (uses.is_result(name)) return false;
    for (const NodeId user : uses.of(name)) {
      const auto operands = f.operands(user);
      if (f.as<relay::Let>(user) != nullptr) {
        names.push_back(user);
      } else if (f.as<relay::ValueCall>(user) == nullptr ||
                 std::count(operands.begin() + 1, operands.end(), name) != 0) {
        return false;
      }
    }
  }
  return true;
}

std::set<std::string> changeable_functions(const Module& module, std::string_view compiler,
                                           std::vector<Diagnostic>& warnings) {
  std::set<std::string> symbols;
  for (const auto& [name, f] : module.functions) {
    if (is_compiler_function(f.attrs, compiler)) symbols.insert(name);
  }
  for (const auto& [name, f] : module.functions) {
    const relay::Uses uses(f);
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const auto* global = f.as<relay::GlobalRef>(NodeId{i});
      if (global == nullptr || !symbols.contains(global->name)) continue;
      if (is_only_called(f, uses, NodeId{i})) continue;
      warnings.push_back(warning(Code::kNotSupported, f[NodeId{i}].location,
                                 "`@{}` keeps its signature: it is used as a value here",
                                 global->name));
      symbols.erase(global->name);
    }
  }
  return symbols;
}

const std::string* called_function(const Function& f, NodeId call,
                                   const std::set<std::string>& among) {
  if (f.as<relay::ValueCall>(call) == nullptr) return nullptr;
  const auto* global = f.as<relay::GlobalRef>(relay::behind_lets(f, f.operands(call)[0]));
  return global != nullptr && among.contains(global->name) ? &global->name : nullptr;
}

}  // namespace tessera::byoc
