// SPDX-License-Identifier: Apache-2.0
// What a pattern begins with: operators, leaves, literals of Relay text, functions and branches.
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "relay/patterns/pattern_parser.h"
#include "relay/rewrite.h"
#include "relay/text/parse_value.h"

namespace tessera::relay {

Pattern PatternParser::primary() {
  const Token t = peek();
  if (at_name()) return named(take());
  if (accept("*")) return wildcard();
  if (accept("(")) return parenthesised_pattern();
  if (t.kind == TokenKind::kGlobal) return global(take());
  if (t.kind == TokenKind::kNumber || at_word("True") || at_word("False")) return expression();
  if (t.kind == TokenKind::kWord && is_non_finite(text_of(t))) return expression();
  if (t.kind != TokenKind::kWord) {
    fail_expected("a pattern");
    return wildcard();
  }
  if (at_word("constant")) return take(), is_constant();
  if (at_word("scalar") && at_punct("(", 1)) return scalar();
  if (at_word("var")) return variable();
  if (at_word("expr") && at_punct("{", 1)) return braced_expression();
  if (at_word("fn")) return function();
  if (at_word("if")) return branch_pattern();
  if (at_word("let") || at_word("dominates")) return three_parts();
  return operator_pattern();
}

Pattern PatternParser::named(const Token& t) {
  const auto found = names_.find(std::string(text_of(t)));
  if (found != names_.end()) return found->second;
  report(error(Code::kUnknownName, location(t), "`{}` is not defined", text_of(t))
             .with_remedy(defined_.empty() ? "define it before its use: `%x = nn.dense(*, *);`"
                                           : fmt::format("define it before its use; there are {}",
                                                         fmt::join(defined_, ", "))));
  return wildcard();
}

Pattern PatternParser::global(const Token& t) {
  std::string name(text_of(t).substr(1));
  if (name.starts_with('"')) name = unquote(name);
  return is_global(std::move(name));
}

Pattern PatternParser::operator_pattern() {
  const Token t = peek();
  const std::string name = dotted_name();
  if (operators_.find(name) == nullptr) {
    report(error(Code::kUnknownOperator, location(t.begin, last_end_), "there is no operator `{}`",
                 name)
               .with_remedy("`tessera inspect --operators` lists them; other patterns are `*`, "
                            "`constant`, `var` and names as `%x`"));
  }
  return is_operator(name);
}

Pattern PatternParser::parenthesised_pattern() {
  if (accept_open()) {
    expect(")");
    return is_any_tuple();
  }
  std::vector<Pattern> fields;
  bool tuple = at_punct(")");
  while (!panicking_ && !at_punct(")")) {
    fields.push_back(pattern());
    if (!accept(",")) break;
    tuple = true;
  }
  expect(")");
  return tuple || fields.empty() ? is_tuple(std::move(fields)) : fields[0];
}

Pattern PatternParser::expression() {
  begin_expression();
  const NodeId value = primary_value();
  return is_expr(builder_->finish(value));
}

void PatternParser::begin_expression() {
  builder_.emplace();
  regions_.assign(1, Function::kBody);
  locals_.clear();
  bound_.clear();
  ++definition_;
}

Pattern PatternParser::braced_expression() {
  const Token word = take();
  take();
  begin_expression();
  const NodeId value = sequence();
  expect("}");
  Function f = without_dead_nodes(builder_->finish(value));
  for (std::size_t i = 0; i < f.num_nodes() && !panicking_; ++i) {
    const NodeKind kind = f[NodeId(i)].kind();
    if (kind != NodeKind::kIf && kind != NodeKind::kLiteral && kind != NodeKind::kLet) continue;
    report(error(Code::kSyntax, location(word),
                 "an `expr` is made of calls, constants, tuples, projections and globals")
               .with_remedy("write the pattern with `fn`, `if` or `let` outside of `expr`"));
    break;
  }
  return is_expr(std::move(f));
}

Pattern PatternParser::scalar() {
  take();
  take();
  const std::string_view text = peek().kind == TokenKind::kNumber ? text_of(peek()) : "";
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) {
    fail_expected("a number, as `0.5` or `-3`");
    return wildcard();
  }
  take();
  expect(")");
  return is_scalar(value);
}

Pattern PatternParser::variable() {
  take();
  if (!accept("(")) return is_var();
  const auto name = expect(TokenKind::kString, "the name of the variable, in quotes");
  expect(")");
  return is_var(name ? unquote(text_of(*name)) : "");
}

Pattern PatternParser::function() {
  take();
  expect("(");
  std::optional<std::vector<Pattern>> params;
  if (accept_open()) {
    expect(")");
  } else {
    params = patterns_until(")");
  }
  expect("{");
  Pattern body = pattern();
  expect("}");
  return is_function(std::move(params), std::move(body));
}

Pattern PatternParser::braced() {
  expect("{");
  Pattern p = pattern();
  expect("}");
  return p;
}

Pattern PatternParser::branch_pattern() {
  take();
  expect("(");
  Pattern condition = pattern();
  expect(")");
  Pattern then_value = braced();
  if (at_word("else")) {
    take();
  } else {
    fail_expected("`else`");
  }
  return is_if(std::move(condition), std::move(then_value), braced());
}

Pattern PatternParser::three_parts() {
  const Token word = take();
  expect("(");
  std::vector<Pattern> parts = patterns_until(")");
  if (parts.size() != 3) {
    report(error(Code::kSyntax, location(word), "`{}` has three parts, not {}", text_of(word),
                 parts.size())
               .with_remedy(text_of(word) == "let" ? "write `let(variable, value, body)`"
                                                   : "write `dominates(parent, path, child)`"));
    return wildcard();
  }
  if (text_of(word) == "let") return is_let(parts[0], parts[1], parts[2]);
  return dominates(parts[0], parts[1], parts[2]);
}

}  // namespace tessera::relay
