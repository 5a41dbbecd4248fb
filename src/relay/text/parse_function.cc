// SPDX-License-Identifier: Apache-2.0
// Functions: signatures, bodies and the bindings in them.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "relay/close_literal.h"
#include "relay/text/parser.h"

namespace tessera::relay {

// `(params, attrs) -> R { body }` after the name of a global or `fn`.
Function Parser::function_after_name(const Token& start) {
  builder_.emplace();
  regions_.assign(1, Function::kBody);
  locals_.clear();
  bound_.clear();
  ++definition_;
  at(start.begin, start.end);
  const Scope scope(*this);
  Signature s = signature();
  const NodeId result = sequence();
  expect("}");
  Function f = builder_->finish(result, std::move(s.attrs), std::move(s.result));
  f.location = location(start);
  // What no result needs is no part of the function: temporaries that nobody reads, lifted
  // literals.
  return panicking_ || !errors_.empty() ? std::move(f) : without_dead_nodes(std::move(f));
}

// Up to the brace.
Parser::Signature Parser::signature() {
  Signature s;
  if (at_punct("[")) unsupported(peek(), "type parameters are");
  expect("(");
  while (peek().kind == TokenKind::kLocal) {
    parameter();
    if (!accept(",")) break;
  }
  attributes(s.attrs, true);
  expect(")");
  if (accept("->")) s.result = type();
  expect("{");
  return s;
}

void Parser::parameter() {
  const Token name = take();
  if (accept("{")) {  // where the value lives, which targets decide here
    if (!at_word("virtual_device")) unsupported(peek(), "an attribute of a parameter is");
    Attrs ignored;
    attributes(ignored, true);
    expect("}");
  }
  const Type annotation = accept(":") ? type() : Type();
  const std::string hint = name_of(name);
  // Two parameters of one function must have two names.
  const auto known = locals_.find(hint);
  if (known != locals_.end() && !known->second.empty()) {
    const NodeId other = known->second.back().node;
    const FunctionBuilder& b = *builder_;
    if (other && b.peek().as<Param>(other) != nullptr &&
        b.peek()[other].region == regions_.back()) {
      report(error(Code::kDuplicateName, location(name), "the parameter `{}` is declared twice",
                   text_of(name)));
    }
  }
  at(name.begin, last_end_);
  bind(hint, {builder_->param(hint, annotation), {}});
}

void Parser::bind(std::string_view name, Binding binding) {
  locals_[std::string(name)].push_back(std::move(binding));
  bound_.emplace_back(name);
}

// After `fn`, which has been taken.
NodeId Parser::literal() {
  const Token start{TokenKind::kWord, last_end_ - 2, last_end_};
  const RegionId body = builder_->begin_region();
  regions_.push_back(body);
  Signature s;
  {
    const Scope scope(*this);
    s = signature();
    builder_->end_region(sequence());
  }
  regions_.pop_back();
  expect("}");
  at(start.begin, start.end);
  return builder_->literal(body, std::move(s.attrs), std::move(s.result));
}

NodeId Parser::sequence() {
  const Scope scope(*this);
  NodeId result;
  while (sequence_item(result)) {
  }
  return result ? result : placeholder();
}

// One item; false when it was the last, whose value is the result.
bool Parser::sequence_item(NodeId& result) {
  if (panicking_) return false;
  if (at_word("let")) return let_binding(), true;
  if (peek().kind == TokenKind::kGraph && at_punct("=", 1)) return graph_binding(), true;
  if (at_word("free_var")) return unsupported(peek(), "free variables are"), false;
  const Token start = peek();
  if (accept("{")) {
    const Nesting nesting(*this);
    result = sequence();
    expect("}");
  } else {
    result = infix().node;
  }
  if (!accept(";")) return false;
  at(start.begin, last_end_);
  builder_->let("_", result);  // `a; b` names a value that nobody reads
  return true;
}

void Parser::let_binding() {
  take();
  const auto name = expect(TokenKind::kLocal, "a local variable, `%x`");
  if (!name) return;
  const std::string hint = name_of(*name);
  const Type annotation = accept(":") ? type() : Type();
  expect("=");
  NodeId value;
  if (at_word("fn")) {
    const Scope scope(*this);
    bind(hint, {});  // known in its own body
    value = infix().node;
    if (const Binding& used = locals_[hint].back(); !used.recursive_name.empty()) {
      value = lift_recursive(used, value, *name);
    }
  } else {
    value = infix().node;
  }
  at(name->begin, name->end);
  bind(hint, {builder_->let(hint, value, annotation), {}});
  expect(";");
}

namespace {

// The call with further arguments before its own.
NodeId call_with(Copier& c, NodeId call, const std::vector<NodeId>& captured) {
  std::vector<NodeId> operands = c.operands(call);
  std::vector<NodeId> more;
  for (const NodeId id : captured) more.push_back(c.map(id));
  operands.insert(operands.begin() + 1, more.begin(), more.end());
  return c.copy(call, operands);
}

}  // namespace

// Makes a recursive literal a function of the text, and a reference to it.
NodeId Parser::lift_recursive(const Binding& binding, NodeId literal, const Token& name) {
  const Function& f = builder_->peek();
  if (panicking_ || f.as<Literal>(literal) == nullptr) {
    unsupported(name, "a recursive `let` of anything but a function literal is");
    return placeholder();
  }
  const std::string global = binding.recursive_name;
  const std::vector<NodeId> captured = captured_values(f, literal);
  // What it reads from outside it takes as arguments, and hands on.
  bool is_passed_on = false;
  Function lifted =
      close_literal(f, literal, captured, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
        const auto operands = f.operands(id);
        for (std::size_t i = 0; i < operands.size() && !captured.empty(); ++i) {
          const auto* ref = f.as<GlobalRef>(operands[i]);
          if (ref == nullptr || ref->name != global) continue;
          if (i == 0 && f.as<ValueCall>(id) != nullptr) return call_with(c, id, captured);
          is_passed_on = true;
        }
        return std::nullopt;
      });
  add_function(global, name, without_dead_nodes(std::move(lifted)));
  if (is_passed_on) {
    unsupported(name,
                "a recursive function that uses values from outside and is a value itself is");
  }
  at(name.begin, name.end);
  return captured.empty() ? builder_->global(global) : closure(literal, global, captured);
}

// A literal like that of the text, which calls the function that it became.
NodeId Parser::closure(NodeId literal, const std::string& global,
                       const std::vector<NodeId>& captured) {
  const Literal lifted = *builder_->peek().as<Literal>(literal);
  const RegionId body = builder_->begin_region();
  std::vector<NodeId> arguments = captured;
  for (const NodeId id : std::vector(builder_->peek().region(lifted.body).params)) {
    const Param param = *builder_->peek().as<Param>(id);
    arguments.push_back(builder_->param(param.name, param.annotation));
  }
  const NodeId callee = builder_->global(global);
  builder_->end_region(builder_->call_value(callee, arguments));
  return builder_->literal(body, {}, lifted.result_annotation);
}

void Parser::graph_binding() {
  const Token name = take();
  take();
  const Value value = infix();
  expect(";");
  const std::string_view digits = text_of(name).substr(1);
  std::int64_t number = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc()) {
    return fail_syntax(
        error(Code::kBadLiteral, location(name), "`{}` is too large a number", text_of(name)));
  }
  const auto [it, fresh] = graph_.try_emplace(number, GraphBinding{value.node, definition_, name});
  if (fresh) return;
  report(error(Code::kDuplicateName, location(name),
               "`{}` is bound twice: numbers are unique in the whole text", text_of(name))
             .note(location(it->second.at), "the first binding"));
}

}  // namespace tessera::relay
