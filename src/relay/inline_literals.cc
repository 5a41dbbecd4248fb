// SPDX-License-Identifier: Apache-2.0
#include "relay/inline_literals.h"

#include <set>

#include "relay/rewrite.h"

namespace tessera::relay {
namespace {

// A literal as a function of its own: what it reads from outside, references to globals excepted,
// becomes parameters before the others.
struct Closed {
  Function function;
  std::vector<NodeId> captured;
};

std::set<NodeId> captures_of(const Function& f, RegionId body, const std::vector<NodeId>& inside) {
  std::set<NodeId> out;
  const auto note = [&](NodeId id) {
    if (!is_within(f, f[id].region, body)) out.insert(id);
  };
  for (const NodeId id : inside) {
    for (const NodeId operand : f.operands(id)) note(operand);
    for (const RegionId region : regions_of(f, id)) note(f.region(region).result);
  }
  note(f.region(body).result);
  return out;
}

Closed close_literal(const Function& f, NodeId literal) {
  const RegionId body = f.as<Literal>(literal)->body;
  const std::vector<NodeId> inside = nodes_within(f, body);
  Closed out;
  FunctionBuilder builder;
  Copier copier(f, builder, false);
  for (const NodeId id : captures_of(f, body, inside)) {
    if (const auto* global = f.as<GlobalRef>(id)) {
      copier.set(id, builder.global(global->name));
      continue;
    }
    const NodeId param = builder.param("captured", f.type(id));
    builder.set_type(param, f.type(id));
    copier.set(id, param);
    out.captured.push_back(id);
  }
  copier.run(body, inside);
  out.function = builder.finish(copier.map(f.region(body).result));
  return out;
}

}  // namespace

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
    const Closed body = close_literal(fresh, operands[0]);
    std::vector<NodeId> arguments = body.captured;
    arguments.insert(arguments.end(), operands.begin() + 1, operands.end());
    return inline_call(c.builder(), body.function, arguments);
  });
}

}  // namespace tessera::relay
