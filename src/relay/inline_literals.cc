// SPDX-License-Identifier: Apache-2.0
#include "relay/inline_literals.h"

#include "relay/close_literal.h"

namespace tessera::relay {

Function inline_literals(const Function& f,
                         const std::function<bool(NodeId call, const Literal&)>& accept) {
  return rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
    const bool is_let = f.as<Let>(id) != nullptr;
    if (!is_let && f.as<ValueCall>(id) == nullptr) return std::nullopt;
    const std::vector<NodeId> operands = c.operands(id);
    // What stands in the new function is free of calls of literals already.
    const Function& fresh = c.builder().peek();
    const auto* literal = fresh.as<Literal>(operands[0]);
    if (literal == nullptr) return std::nullopt;
    if (is_let) return operands[0];
    if (accept && !accept(id, *literal)) return std::nullopt;
    std::vector<NodeId> arguments = captured_values(fresh, operands[0]);
    const Function body = close_literal(fresh, operands[0], arguments);
    arguments.insert(arguments.end(), operands.begin() + 1, operands.end());
    return inline_call(c.builder(), body, arguments);
  });
}

}  // namespace tessera::relay
