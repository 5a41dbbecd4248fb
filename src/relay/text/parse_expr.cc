// SPDX-License-Identifier: Apache-2.0
// Expressions.
#include <charconv>

#include <fmt/format.h>

#include "relay/print_value.h"
#include "relay/rewrite.h"
#include "relay/text/parse_value.h"
#include "relay/text/parser.h"
#include "relay/words.h"

namespace tessera::relay {

// What stands for a value after an error.
NodeId Parser::placeholder() { return builder_->tuple({}); }

NodeId Parser::constant(Tensor tensor) { return builder_->constant(std::move(tensor)); }

bool Parser::is_visible(NodeId id) const {
  const Function& f = builder_->peek();
  return is_within(f, regions_.back(), f[id].region);
}

// Operators of at least this level, by precedence climbing; chains of one level are a loop.
Parser::Value Parser::infix(int min_level) {
  Value left = call();
  while (peek().kind == TokenKind::kPunct) {
    const InfixOperator* found = nullptr;
    for (const InfixOperator& candidate : kInfixOperators) {
      if (text_of(peek()) == candidate.text) found = &candidate;
    }
    if (found == nullptr || found->level < min_level) break;
    const Token sign = take();
    const Value right = infix(found->level + 1);
    Arguments args;
    args.nodes = {left.node, right.node};
    at(left.begin, right.end);
    left = {make_op_call(found->name, std::move(args), sign), left.begin, right.end};
  }
  return left;
}

Parser::Value Parser::call() {
  Value callee = projections(primary());
  while (at_punct("(")) {
    const Token start = peek();
    const Arguments args = arguments();
    at(callee.begin, last_end_);
    if (!args.attrs.empty() && args.attrs.find("attrs_type_key") == nullptr) {
      report(
          error(Code::kWrongAttribute, location(start),
                "attributes of a call that calls no operator need `attrs_type_key` beside them"));
    }
    callee = projections(
        {builder_->call_value(callee.node, args.nodes, args.attrs), callee.begin, last_end_});
  }
  return callee;
}

// The value with the projections that follow it.
Parser::Value Parser::projections(Value value) {
  while (at_punct(".") && peek(1).kind == TokenKind::kNumber) {
    take();
    const Token t = take();
    const auto index = parse_size(text_of(t));
    if (!index || *index > 1'000'000) {
      report(error(Code::kBadLiteral, location(t), "`{}` is not an index of a field", text_of(t)));
    }
    at(value.begin, t.end);
    value = {builder_->project(value.node, static_cast<int>(index.value_or(0))), value.begin,
             t.end};
  }
  return value;
}

Parser::Value Parser::primary() {
  const Nesting nesting(*this);
  const Token t = peek();
  switch (t.kind) {
    case TokenKind::kNumber:
      return number(take(), false);
    case TokenKind::kLocal:
      return local();
    case TokenKind::kGraph:
      return graph_reference();
    case TokenKind::kMeta:
      return meta();
    case TokenKind::kGlobal: {
      take();
      at(t.begin, t.end);
      return {builder_->global(name_of(t)), t.begin, t.end};
    }
    case TokenKind::kPunct:
      if (at_punct("(")) return parenthesised();
      if (at_punct("-") && is_non_finite(text_of(peek(1)))) return take(), number(take(), true);
      break;
    case TokenKind::kWord:
      return operator_call();
    case TokenKind::kEnd:
    case TokenKind::kString:
    case TokenKind::kPragma:
    case TokenKind::kBad:
      break;
  }
  fail_expected("an expression");
  return {placeholder(), t.begin, t.end};
}

// Whatever begins with a word.
Parser::Value Parser::operator_call() {
  const Token t = peek();
  if (is_non_finite(text_of(t))) return number(take(), false);
  if (at_word("True") || at_word("False")) {
    take();
    at(t.begin, t.end);
    const std::int64_t value = text_of(t) == "True" ? 1 : 0;
    return {constant(tensor_from_ints({}, kBool, std::span(&value, 1))), t.begin, t.end};
  }
  if (at_word("fn")) {
    take();
    const NodeId node = literal();
    return {node, t.begin, last_end_};
  }
  if (at_word("if")) return branch();
  for (const std::string_view word : {"match", "ref", "ref_read", "ref_write", "free_var"}) {
    if (!at_word(word)) continue;
    unsupported(t, fmt::format("`{}` is", word));
    return {placeholder(), t.begin, t.end};
  }
  for (const std::string_view word : {"let", "def", "else", "type", "extern"}) {
    if (!at_word(word)) continue;
    fail_expected("an expression");
    return {placeholder(), t.begin, t.end};
  }
  const std::string name = dotted_name();
  const Token whole{TokenKind::kWord, t.begin, last_end_};
  if (!at_punct("(")) {
    fail_expected(fmt::format("the arguments of `{}` in parentheses", name));
    return {placeholder(), t.begin, last_end_};
  }
  Arguments args = arguments();
  at(t.begin, last_end_);
  const std::uint32_t end = last_end_;
  return {make_op_call(name, std::move(args), whole), t.begin, end};
}

bool Parser::has_right_arity(const Operator& op, std::size_t num_args, const Token& t) {
  const std::size_t most = op.operands.size();
  const std::size_t least = most - static_cast<std::size_t>(op.optional_operands);
  if (num_args >= least && (num_args <= most || op.variadic)) return true;
  std::string takes = fmt::format("{}", least);
  if (op.variadic) {
    takes += " or more";
  } else if (most != least) {
    takes += fmt::format(" to {}", most);
  }
  report(error(Code::kWrongArity, location(t), "`{}` takes {} operand{}, found {}", op.name, takes,
               takes == "1" ? "" : "s", num_args));
  return false;
}

NodeId Parser::make_op_call(std::string_view name, Arguments args, const Token& t) {
  const Operator* op = operators_.find(name);
  if (op == nullptr) {
    report(error(Code::kUnknownOperator, location(t), "there is no operator `{}`", name));
    return placeholder();
  }
  if (!has_right_arity(*op, args.nodes.size(), t)) return placeholder();
  if (const auto finding = op->attrs().normalize(args.attrs)) {
    report(error(Code::kWrongAttribute, location(t), "`{}`: {}", name, *finding));
    return placeholder();
  }
  return builder_->call(*op, args.nodes, std::move(args.attrs));
}

Parser::Arguments Parser::arguments() {
  Arguments args;
  expect("(");
  while (!panicking_ && !at_punct(")") && !at_attribute()) {
    args.nodes.push_back(sequence());
    if (!accept(",")) break;
  }
  args.attrs_begin = peek().begin;
  attributes(args.attrs, false);
  expect(")");
  return args;
}

Parser::Value Parser::number(const Token& t, bool negative) {
  at(t.begin, t.end);
  auto value = parse_scalar((negative ? "-" : "") + std::string(text_of(t)));
  if (value) return {constant(std::move(*value)), t.begin, t.end};
  report(error(Code::kBadLiteral, location(t), "`{}` {}", text_of(t), value.error()));
  return {placeholder(), t.begin, t.end};
}

// Is a global of this name anywhere in the text, but in comments to the end of a line?
bool Parser::is_mentioned(const std::string& global) const {
  const std::string_view text = file_->text;
  const std::string mark = global_text(global);
  for (auto at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
    const std::size_t end = at + mark.size();
    if (end < text.size() && is_identifier_char(text[end])) continue;
    const std::size_t line = text.rfind('\n', at) + 1;
    if (text.substr(line, at - line).find("//") == text.npos) return true;
  }
  return false;
}

Parser::Value Parser::local() {
  const Token t = take();
  const auto it = locals_.find(name_of(t));
  if (it == locals_.end() || it->second.empty()) {
    report(error(Code::kUnknownName, location(t), "`{}` has not been declared", text_of(t))
               .with_remedy("declare it as a parameter or with `let`"));
    return {placeholder(), t.begin, t.end};
  }
  Binding& binding = it->second.back();
  if (binding.node) return {binding.node, t.begin, t.end};
  std::string& name = binding.recursive_name;
  if (name.empty()) {
    name = fmt::format("{}_{}", definition_name_, name_of(t));
    while (is_mentioned(name) || !lifted_.insert(name).second) name += '_';
  }
  at(t.begin, t.end);
  return {builder_->global(name), t.begin, t.end};
}

Parser::Value Parser::graph_reference() {
  const Token t = take();
  const std::string_view digits = text_of(t).substr(1);
  std::int64_t number = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const auto it = graph_.find(number);
  if (it == graph_.end()) {
    report(error(Code::kUnknownName, location(t), "`{}` has not been bound before", text_of(t)));
  } else if (it->second.definition != definition_) {
    report(error(Code::kUnknownName, location(t), "`{}` belongs to another function", text_of(t))
               .note(location(it->second.at), "bound here"));
  } else if (!is_visible(it->second.node)) {
    report(error(Code::kMalformedGraph, location(t),
                 "`{}` is bound inside a branch or function literal that ends before this use",
                 text_of(t))
               .with_remedy("bind it before the branch or literal")
               .note(location(it->second.at), "bound here"));
  } else {
    return {it->second.node, t.begin, t.end};
  }
  return {placeholder(), t.begin, t.end};
}

Parser::Value Parser::meta() {
  const Token t = take();
  const auto ref = parse_meta(text_of(t));
  at(t.begin, t.end);
  if (ref && ref->key != kConstantKey) {
    unsupported(t, fmt::format("a `{}` from the metadata section is", ref->key));
  } else if (!ref || ref->index >= metadata_.constants.size()) {
    report(error(Code::kBadMetadata, location(t), "`{}` has no entry: there are {} constants",
                 text_of(t), metadata_.constants.size()));
  } else {
    return {constant(metadata_.constants[ref->index]), t.begin, t.end};
  }
  return {placeholder(), t.begin, t.end};
}

Parser::Value Parser::parenthesised() {
  const Token open = take();
  std::vector<NodeId> fields;
  bool tuple = at_punct(")");
  while (!panicking_ && !at_punct(")")) {
    fields.push_back(sequence());
    if (!accept(",")) break;
    tuple = true;
  }
  expect(")");
  at(open.begin, last_end_);
  const NodeId node = tuple ? builder_->tuple(fields) : fields.empty() ? placeholder() : fields[0];
  return {node, open.begin, last_end_};
}

Parser::Value Parser::branch() {
  const Token start = take();
  expect("(");
  const NodeId condition = sequence();
  expect(")");
  const auto block = [&] {
    expect("{");
    const RegionId region = builder_->begin_region();
    regions_.push_back(region);
    builder_->end_region(sequence());
    regions_.pop_back();
    expect("}");
    return region;
  };
  const RegionId yes = block();
  if (at_word("else")) {
    take();
  } else {
    fail_expected("`else`");
  }
  const RegionId no = block();
  at(start.begin, last_end_);
  return {builder_->if_(condition, yes, no), start.begin, last_end_};
}

}  // namespace tessera::relay
