// SPDX-License-Identifier: Apache-2.0
#include "module/symbol_names.h"

namespace tessera {

// Symbol, name, symbol, name...
std::map<std::string, std::string> symbol_names(const relay::Function& entry) {
  std::map<std::string, std::string> names;
  const relay::AttrValue* given = entry.attrs.find("symbol_names");
  const auto* list = given != nullptr ? given->as<relay::AttrArray>() : nullptr;
  for (std::size_t i = 0; list != nullptr && i + 1 < list->size(); i += 2) {
    const auto* symbol = (*list)[i].as<std::string>();
    const auto* name = (*list)[i + 1].as<std::string>();
    if (symbol != nullptr && name != nullptr) names.emplace(*symbol, *name);
  }
  return names;
}

relay::AttrValue symbol_names_attr(const std::map<std::string, std::string>& names) {
  relay::AttrArray list;
  for (const auto& [symbol, name] : names) {
    list.emplace_back(symbol);
    list.emplace_back(name);
  }
  return list;
}

}  // namespace tessera
