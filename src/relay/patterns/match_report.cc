// SPDX-License-Identifier: Apache-2.0
// Why a pattern did not match, in a sentence.
#include <algorithm>

#include <fmt/format.h>

#include "relay/patterns/matcher.h"
#include "relay/patterns/pattern_text.h"
#include "relay/patterns/root_operators.h"

namespace tessera::relay {

using expr_facts::as;

bool Matcher::is_candidate(std::uint32_t root) const { return may_be(pattern_.root(), root); }

bool Matcher::may_be(std::uint32_t p, std::uint32_t e) const {
  const auto& [node, children] = pattern_[p];
  switch (node->kind) {
    case PatternKind::kCall: {
      std::vector<std::string_view> operators;
      if (!operators_of_callee(node->children[0], operators)) return expr_facts::is_call(graph_, e);
      return std::any_of(operators.begin(), operators.end(), [&](std::string_view op) {
        return expr_facts::is_call_of(graph_, e, op);
      });
    }
    case PatternKind::kEither:
      return may_be(children[0], e) || may_be(children[1], e);
    case PatternKind::kAttr:
    case PatternKind::kType:
    case PatternKind::kDtype:
    case PatternKind::kShape:
      return may_be(children[0], e);
    case PatternKind::kDominator:
      return may_be(children[2], e);
    case PatternKind::kFunction:
      return as<Literal>(graph_, e) != nullptr;
    case PatternKind::kIf:
      return as<If>(graph_, e) != nullptr;
    case PatternKind::kLet:
      return graph_[e].kind == IndexedKind::kLet;
    case PatternKind::kTuple:
      return as<Tuple>(graph_, e) != nullptr;
    case PatternKind::kProject:
      return as<Project>(graph_, e) != nullptr;
    default:
      return graph_[e].kind == IndexedKind::kNode;
  }
}

std::string Matcher::why_not() const {
  if (failure_.pattern == nullptr) return "";
  const std::string found = expr_facts::describe(graph_, failure_.expr);
  const std::string wanted = print_short(
      Pattern(std::shared_ptr<const PatternNode>(std::shared_ptr<void>(), failure_.pattern)));
  if (*failure_.what == '\0') return fmt::format("{} is not `{}`", found, wanted);
  return fmt::format("{} does not fit `{}`: {}", found, wanted, failure_.what);
}

}  // namespace tessera::relay
