// SPDX-License-Identifier: Apache-2.0
#include "lower/te_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "support/hash.h"

namespace tessera::lower {
namespace {

constexpr std::size_t kMaxLength = 80;

bool is_identifier_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string joined(std::string name, const std::vector<std::string>& operators) {
  for (const std::string& op : operators) name += "_" + op;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !is_identifier_char(c); }, '_');
  if (name.size() <= kMaxLength) return name;
  return fmt::format("{}_{:x}_", name.substr(0, kMaxLength), hash_text(name).low);
}

}  // namespace

std::string fused_name(std::string_view module_name, const std::vector<std::string>& operators) {
  return joined(fmt::format("{}_fused", module_name), operators);
}

std::string shape_function_name(std::string_view module_name,
                                const std::vector<std::string>& operators) {
  return joined(fmt::format("{}_shape_func", module_name), operators);
}

}  // namespace tessera::lower
