// SPDX-License-Identifier: Apache-2.0
#include "module/output_names.h"

#include <fmt/format.h>

namespace tessera {

std::vector<std::string> output_names(const relay::Function& entry, std::size_t count) {
  std::vector<std::string> names;
  const relay::AttrValue* given = entry.attrs.find("output_names");
  const auto* list = given != nullptr ? given->as<relay::AttrArray>() : nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string* name =
        list != nullptr && i < list->size() ? (*list)[i].as<std::string>() : nullptr;
    names.push_back(name != nullptr ? *name : count == 1 ? "output" : fmt::format("output_{}", i));
  }
  return names;
}

}  // namespace tessera
