// SPDX-License-Identifier: Apache-2.0
#include "module/name_supply.h"

#include <fmt/format.h>

namespace tessera {

NameSupply::NameSupply(const Module& module) {
  for (const auto& [name, f] : module.functions) take(name);
  for (const auto& [name, f] : module.prim_funcs) take(name);
  for (const auto& [name, e] : module.externs) take(name);
}

std::string NameSupply::fresh(const std::string& hint) {
  std::string name = hint;
  while (is_taken(name)) name = fmt::format("{}_{}", hint, ++last_[hint]);
  take(name);
  return name;
}

}  // namespace tessera
