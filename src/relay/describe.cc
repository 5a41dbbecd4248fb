// SPDX-License-Identifier: Apache-2.0
#include "relay/describe.h"

#include <fmt/format.h>

#include "relay/operator.h"
#include "relay/print_value.h"

namespace tessera::relay {

std::string describe(const Function& f, NodeId id) {
  switch (f[id].kind()) {
    case NodeKind::kParam:
      return fmt::format("the parameter `%{}`", f.as<Param>(id)->name);
    case NodeKind::kConstant:
      return "a constant";
    case NodeKind::kOpCall:
      return fmt::format("a call of `{}`", f.op(id)->name);
    case NodeKind::kValueCall: {
      const auto* literal = f.as<Literal>(f.operands(id)[0]);
      const std::string name =
          literal != nullptr ? literal->attrs.string_or_empty("Composite") : "";
      return name.empty() ? "a call of a function" : fmt::format("a call of composite `{}`", name);
    }
    case NodeKind::kTuple:
      return "a tuple";
    case NodeKind::kProject:
      return fmt::format("a projection `.{}`", f.as<Project>(id)->index);
    case NodeKind::kIf:
      return "an `if`";
    case NodeKind::kLiteral:
      return "a function literal";
    case NodeKind::kLet:
      return fmt::format("the `let` variable `%{}`", f.as<Let>(id)->name);
    case NodeKind::kGlobalRef:
      return fmt::format("the global `{}`", global_text(f.as<GlobalRef>(id)->name));
  }
  return "";
}

}  // namespace tessera::relay
