// SPDX-License-Identifier: Apache-2.0
#include "relay/patterns/root_operators.h"

#include <algorithm>

#include "relay/patterns/pattern_node.h"

namespace tessera::relay {

bool operators_of_callee(const Pattern& callee, std::vector<std::string_view>& out) {
  const PatternNode& node = *callee.get();
  switch (node.kind) {
    case PatternKind::kOperator:
      out.push_back(node.name);
      return true;
    case PatternKind::kEither:
      return operators_of_callee(node.children[0], out) &&
             operators_of_callee(node.children[1], out);
    case PatternKind::kAttr:
      return operators_of_callee(node.children[0], out);
    default:
      return false;
  }
}

namespace {

bool add_roots(const Pattern& pattern, std::vector<std::string_view>& out) {
  const PatternNode& node = *pattern.get();
  switch (node.kind) {
    case PatternKind::kCall:
      return operators_of_callee(node.children[0], out);
    case PatternKind::kEither:
      return add_roots(node.children[0], out) && add_roots(node.children[1], out);
    case PatternKind::kAttr:
    case PatternKind::kType:
    case PatternKind::kDtype:
    case PatternKind::kShape:
      return add_roots(node.children[0], out);
    case PatternKind::kDominator:
      return add_roots(node.children[2], out);
    default:
      return false;
  }
}

}  // namespace

std::optional<std::vector<std::string_view>> root_operators(const Pattern& pattern) {
  std::vector<std::string_view> out;
  if (!add_roots(pattern, out)) return std::nullopt;
  // Products and quotients match each other where they are grouped in another way.
  const auto has = [&](std::string_view op) {
    return std::find(out.begin(), out.end(), op) != out.end();
  };
  const bool products = has("multiply"), quotients = has("divide");
  if (products && !quotients) out.push_back("divide");
  if (quotients && !products) out.push_back("multiply");
  return out;
}

}  // namespace tessera::relay
