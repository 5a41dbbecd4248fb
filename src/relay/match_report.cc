// SPDX-License-Identifier: Apache-2.0
// Why a pattern did not match, in a sentence.
#include <fmt/format.h>

#include "relay/matcher.h"
#include "relay/pattern_text.h"

namespace tessera::relay {

namespace {

// The operators that a callee may be; false if it may be something else.
bool operators_of(const PatternGraph& pattern, std::uint32_t callee,
                  std::vector<std::string_view>& out) {
  const auto& [node, children] = pattern[callee];
  switch (node->kind) {
    case PatternKind::kOperator:
      out.push_back(node->name);
      return true;
    case PatternKind::kEither:
      return operators_of(pattern, children[0], out) && operators_of(pattern, children[1], out);
    case PatternKind::kAttr:
      return operators_of(pattern, children[0], out);
    default:
      return false;
  }
}

// The operators whose calls the pattern's root may be; false if it may be something else.
bool root_operators(const PatternGraph& pattern, std::uint32_t p,
                    std::vector<std::string_view>& out) {
  const auto& [node, children] = pattern[p];
  switch (node->kind) {
    case PatternKind::kCall:
      return operators_of(pattern, children[0], out);
    case PatternKind::kEither:
      return root_operators(pattern, children[0], out) && root_operators(pattern, children[1], out);
    case PatternKind::kAttr:
    case PatternKind::kType:
    case PatternKind::kDtype:
    case PatternKind::kShape:
      return root_operators(pattern, children[0], out);
    case PatternKind::kDominator:
      return root_operators(pattern, children[2], out);
    default:
      return false;
  }
}

}  // namespace

bool Matcher::is_candidate(std::uint32_t root) const {
  std::vector<std::string_view> operators;
  if (!root_operators(pattern_, pattern_.root(), operators)) return true;
  return std::any_of(operators.begin(), operators.end(),
                     [&](std::string_view op) { return expr_facts::is_call_of(graph_, root, op); });
}

std::string Matcher::why_not() const {
  if (failure_.pattern == nullptr) return "";
  const std::string found = expr_facts::describe(graph_, failure_.expr);
  const std::string wanted = print_short(
      Pattern(std::shared_ptr<const PatternNode>(std::shared_ptr<void>(), failure_.pattern)));
  if (*failure_.what == '\0') return fmt::format("{} is not `{}`", found, wanted);
  return fmt::format("{} fails `{}`: {}", found, wanted, failure_.what);
}

}  // namespace tessera::relay
