// SPDX-License-Identifier: Apache-2.0
#include "tir/names.h"

#include <fmt/format.h>

namespace tessera::tir {

std::string identifier(std::string_view hint) {
  std::string name;
  for (const char c : hint) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (digit && name.empty()) name = "v";
    name += letter || digit ? c : '_';
  }
  return name.empty() ? "v" : name;
}

Names::Names(std::vector<std::string_view> reserved) {
  for (const auto word : reserved) taken_.insert(std::string(word));
}

std::string Names::fresh(std::string_view hint) {
  const std::string base = identifier(hint);
  std::string name = base;
  while (!taken_.insert(name).second) name = fmt::format("{}_{}", base, ++next_[base]);
  return name;
}

const std::string& Names::of(const void* thing, std::string_view hint) {
  const auto it = names_.find(thing);
  if (it != names_.end()) return it->second;
  return names_[thing] = fresh(hint);
}

}  // namespace tessera::tir
