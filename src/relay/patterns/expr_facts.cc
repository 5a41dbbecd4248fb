// SPDX-License-Identifier: Apache-2.0
// What the leaves and constraints of patterns ask about an expression.
#include <unordered_map>

#include <fmt/format.h>

#include "constants/pool.h"
#include "relay/describe.h"
#include "relay/fusion_number.h"
#include "relay/patterns/matcher.h"
#include "relay/rewrite.h"
#include "relay/structural_equal.h"

namespace tessera::relay::expr_facts {

bool is_call(const IndexedGraph& g, std::uint32_t e) {
  return as<OpCall>(g, e) != nullptr || as<ValueCall>(g, e) != nullptr;
}

bool is_call_of(const IndexedGraph& g, std::uint32_t e, std::string_view op) {
  const auto* call = as<OpCall>(g, e);
  return call != nullptr && call->op->name == op;
}

bool is_variable(const IndexedGraph& g, std::uint32_t e, std::string_view name) {
  const auto* param = as<Param>(g, e);
  const auto* let = as<Let>(g, e);
  if (param == nullptr && let == nullptr) return false;
  return name.empty() || name == (param != nullptr ? param->name : let->name);
}

namespace {

// The attribute as the operator sees it: what is not given has its default.
const AttrValue* attribute(const IndexedGraph& g, std::uint32_t e, const std::string& name) {
  if (const auto* call = as<OpCall>(g, e)) {
    if (const AttrValue* given = call->attrs.find(name)) return given;
    const AttrField* field = call->op->attrs().find(name);
    return field != nullptr ? &field->default_value : nullptr;
  }
  if (const auto* call = as<ValueCall>(g, e)) return call->attrs.find(name);
  const auto* literal = as<Literal>(g, e);
  if (literal != nullptr) return literal->attrs.find(name);
  return g[e].kind == IndexedKind::kFunction ? g.function().attrs.find(name) : nullptr;
}

// The one attribute that operators themselves have: how they fuse, with the numbers of Relay.
constexpr std::string_view kFusionAttribute = "TOpPattern";

bool is_equal_value(const AttrValue& found, const AttrValue& wanted) {
  const auto* real = found.as<double>();
  const auto* whole = wanted.as<std::int64_t>();
  if (real != nullptr && whole != nullptr) return *real == static_cast<double>(*whole);
  return found == wanted;
}

}  // namespace

bool has_attrs(const IndexedGraph& g, std::uint32_t e, const Attrs& wanted) {
  const Operator* op = g[e].kind == IndexedKind::kOperator ? g[e].op : nullptr;
  const bool has_any = op != nullptr || is_call(g, e) || as<Literal>(g, e) != nullptr ||
                       g[e].kind == IndexedKind::kFunction;
  if (!has_any) return false;
  for (const auto& [name, value] : wanted) {
    if (op != nullptr) {
      if (name != kFusionAttribute || !(value == AttrValue(fusion_number(op->pattern))))
        return false;
      continue;
    }
    const AttrValue* found = attribute(g, e, name);
    if (found == nullptr || !is_equal_value(*found, value)) return false;
  }
  return true;
}

const Tensor* tensor(const IndexedGraph& g, std::uint32_t e, const ConstantPool* pool) {
  const auto* c = as<Constant>(g, e);
  if (c == nullptr) return nullptr;
  if (const auto* t = std::get_if<Tensor>(&c->value)) return t;
  return pool != nullptr ? &pool->resolve(c->value) : nullptr;
}

bool is_scalar(const IndexedGraph& g, std::uint32_t e, const ConstantPool* pool, double value) {
  const Tensor* t = tensor(g, e, pool);
  if (t == nullptr || t->num_elements() != 1) return false;
  const double rounded =
      element_as_double(tensor_from_doubles({}, t->dtype, std::span<const double>(&value, 1)), 0);
  return element_as_double(*t, 0) == (t->dtype.is_float() ? rounded : value);
}

namespace {

// The expression as a function without parameters, if it has at most `limit` nodes, each a call, a
// constant, a tuple, a projection or a global.
std::optional<Function> closed_expression(const IndexedGraph& g, std::uint32_t root,
                                          std::size_t limit) {
  FunctionBuilder builder;
  std::unordered_map<std::uint32_t, NodeId> made;  // never iterated
  struct Step {
    NodeId id;
    std::size_t next = 0;
  };
  if (g[root].kind != IndexedKind::kNode) return std::nullopt;
  const Function& f = g.function();
  std::vector<Step> stack{{g[root].node}};
  while (!stack.empty()) {
    const NodeId id = stack.back().id;
    const NodeKind kind = f[id].kind();
    if (kind == NodeKind::kParam || kind == NodeKind::kLet || kind == NodeKind::kIf ||
        kind == NodeKind::kLiteral || made.size() + stack.size() > limit) {
      return std::nullopt;
    }
    const auto operands = f.operands(id);
    if (stack.back().next < operands.size()) {
      const NodeId operand = operands[stack.back().next++];
      if (!made.contains(operand.index())) stack.push_back({operand});
      continue;
    }
    std::vector<NodeId> mapped;
    for (const NodeId operand : operands) mapped.push_back(made.at(operand.index()));
    made.emplace(id.index(), builder.copy(f, id, mapped));
    stack.pop_back();
  }
  return builder.finish(made.at(g[root].node.index()));
}

}  // namespace

bool is_equal(const IndexedGraph& g, std::uint32_t e, const ConstantPool* pool,
              const Function& expr) {
  if (g[e].kind != IndexedKind::kNode) return false;
  const NodeId wanted = expr.result();
  const Function& f = g.function();
  if (f[g[e].node].kind() != expr[wanted].kind() || f.op(g[e].node) != expr.op(wanted))
    return false;
  const auto found = closed_expression(g, e, expr.num_nodes());
  return found && structural_equal(*found, expr, {pool, nullptr});
}

Type type(const IndexedGraph& g, std::uint32_t e, const ConstantPool* pool) {
  const Function& f = g.function();
  switch (g[e].kind) {
    case IndexedKind::kNode:
      break;
    case IndexedKind::kOperator:
      return {};
    case IndexedKind::kLet:
      return f.type(f.region(f[g[e].node].region).result);
    case IndexedKind::kFunction:
      return type_of_signature(f);
  }
  if (f.type(g[e].node)) return f.type(g[e].node);
  if (const auto* param = as<Param>(g, e)) return param->annotation;
  const Tensor* t = tensor(g, e, pool);
  return t != nullptr ? t->type() : Type();
}

std::string describe(const IndexedGraph& g, std::uint32_t e) {
  switch (g[e].kind) {
    case IndexedKind::kNode:
      break;
    case IndexedKind::kOperator:
      return fmt::format("the operator `{}`", g[e].op->name);
    case IndexedKind::kLet:
      return "a `let`";
    case IndexedKind::kFunction:
      return "the function itself";
  }
  return relay::describe(g.function(), g[e].node);
}

}  // namespace tessera::relay::expr_facts
