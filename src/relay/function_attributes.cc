// SPDX-License-Identifier: Apache-2.0
#include "relay/function_attributes.h"

#include <string_view>

#include <fmt/format.h>

namespace tessera::relay {
namespace {

constexpr std::string_view kFlags[] = {"Extern", "Inline", "Primitive", "SkipOptimization",
                                       "relay.reshape_only"};
constexpr std::string_view kTexts[] = {"Compiler", "Composite", "PartitionedFromPattern",
                                       "global_symbol", "hash"};

}  // namespace

bool is_primitive(const Attrs& attrs) { return attrs.int_or_zero("Primitive") != 0; }

bool is_closed(const Attrs& attrs) {
  return is_primitive(attrs) || attrs.find("Compiler") != nullptr ||
         attrs.find("Composite") != nullptr;
}

std::optional<std::string> wrong_function_attribute(const Attrs& attrs) {
  for (const std::string_view name : kFlags) {
    const AttrValue* v = attrs.find(name);
    if (v == nullptr || v->as<std::int64_t>() != nullptr || v->as<bool>() != nullptr) continue;
    return fmt::format("the attribute `{}` of a function must be an integer", name);
  }
  for (const std::string_view name : kTexts) {
    const AttrValue* v = attrs.find(name);
    if (v == nullptr || v->as<std::string>() != nullptr) continue;
    return fmt::format("the attribute `{}` of a function must be a string", name);
  }
  return std::nullopt;
}

}  // namespace tessera::relay
