// SPDX-License-Identifier: Apache-2.0
// Patterns: alternatives, and what follows a primary pattern.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "relay/patterns/pattern_node.h"
#include "relay/patterns/pattern_parser.h"
#include "relay/text/parse_value.h"

namespace tessera::relay {

namespace {

constexpr int kMaxDepth = 1000;

}  // namespace

Pattern PatternParser::checked(Pattern p, const Token& at) {
  if (p.get()->depth > kMaxDepth) {
    fail_syntax(
        error(Code::kSyntax, location(at), "the pattern is more than {} levels deep", kMaxDepth)
            .with_remedy("split it into several composites"));
    return wildcard();
  }
  return p;
}

Pattern PatternParser::pattern() {
  const Nesting nesting(*this);
  const Token start = peek();
  Pattern left = postfix();
  while (!panicking_ && accept("|")) left = checked(left | postfix(), start);
  return left;
}

Pattern PatternParser::postfix() {
  const Token start = peek();
  Pattern p = primary();
  while (!panicking_) {
    if (at_punct("(")) {
      p = call(p, start);
    } else if (at_punct("?")) {
      p = optional(p);
    } else if (at_punct(".")) {
      p = projection(p);
    } else if (at_punct("{")) {
      p = attributes_of(p);
    } else if (at_punct("[")) {
      p = conditions(p);
    } else if (at_word("as")) {
      p = capture(p);
    } else {
      break;
    }
    p = checked(p, start);
  }
  return p;
}

bool PatternParser::accept_open() {
  if (!at_punct(".") || !at_punct(".", 1) || !at_punct(".", 2)) return false;
  for (int i = 0; i < 3; ++i) take();
  return true;
}

std::vector<Pattern> PatternParser::patterns_until(std::string_view close) {
  std::vector<Pattern> list;
  while (!panicking_ && !at_punct(close)) {
    list.push_back(pattern());
    if (!accept(",")) break;
  }
  expect(close);
  return list;
}

Pattern PatternParser::call(const Pattern& callee, const Token& start) {
  take();
  if (accept_open()) {
    expect(")");
    return callee.call_any();
  }
  std::vector<Pattern> args = patterns_until(")");
  if (const Operator* op = operator_of(callee); op != nullptr && !panicking_) {
    has_right_arity(*op, args.size(), start);
  }
  return callee.call(std::move(args));
}

const Operator* PatternParser::operator_of(const Pattern& p) const {
  return p.get()->kind == PatternKind::kOperator ? operators_.find(p.get()->name) : nullptr;
}

Pattern PatternParser::optional(const Pattern& p) {
  const Token mark = take();
  const PatternNode& node = *p.get();
  if (node.kind != PatternKind::kCall || node.children.size() < 2) {
    report(error(Code::kSyntax, location(mark),
                 "`?` follows a call with arguments: it makes the call optional")
               .with_remedy("write `nn.relu(%x)?`, or both alternatives with `|`"));
    return p;
  }
  return p | node.children[1];
}

Pattern PatternParser::projection(const Pattern& p) {
  take();
  if (accept("*")) return is_project(p);
  const Token t = peek();
  const auto index = t.kind == TokenKind::kNumber ? parse_size(text_of(t)) : std::nullopt;
  if (!index || *index > 1'000'000) {
    fail_expected("the index of a projection, or `*`");
    return p;
  }
  take();
  return is_project(p, static_cast<int>(*index));
}

Pattern PatternParser::attributes_of(const Pattern& p) {
  take();
  Attrs attrs;
  const Token first = peek();
  attributes(attrs, p.get()->kind == PatternKind::kFunction);
  expect("}");
  const PatternNode& node = *p.get();
  if (node.kind == PatternKind::kCall && !panicking_) {
    if (const Operator* op = operator_of(node.children[0])) check_attributes(*op, attrs, first);
  }
  return p.has_attrs(std::move(attrs));
}

void PatternParser::check_attributes(const Operator& op, const Attrs& attrs, const Token& at) {
  std::vector<std::string_view> known;
  for (const AttrField& field : op.attrs().fields) known.push_back(field.name);
  for (const auto& [name, value] : attrs) {
    if (op.attrs().find(name) != nullptr) continue;
    report(error(Code::kWrongAttribute, location(at), "`{}` has no attribute `{}`", op.name, name)
               .with_remedy(known.empty() ? "it has none"
                                          : fmt::format("it has: {}", fmt::join(known, ", "))));
  }
}

Pattern PatternParser::conditions(Pattern p) {
  take();
  do {
    const Token key = peek();
    const std::string word(key.kind == TokenKind::kWord ? text_of(key) : "");
    if (word != "dtype" && word != "shape" && word != "type") {
      fail_expected("`dtype =`, `shape =` or `type =`");
      return p;
    }
    take();
    expect("=");
    if (word == "dtype") p = dtype_condition(p);
    if (word == "type") p = p.has_type(type());
    if (word == "shape") p = p.has_shape(shape());
  } while (!panicking_ && accept(","));
  expect("]");
  return p;
}

Pattern PatternParser::dtype_condition(const Pattern& p) {
  const Token t = peek();
  const auto dtype = t.kind == TokenKind::kWord ? parse_dtype(text_of(t)) : std::nullopt;
  if (!dtype) {
    fail_expected("a data type, as `float16`");
    return p;
  }
  take();
  return p.has_dtype(*dtype);
}

Shape PatternParser::shape() {
  Shape out;
  expect("(");
  while (!panicking_ && !at_punct(")")) {
    out.push_back(dim());
    if (!accept(",")) break;
  }
  expect(")");
  return out;
}

Pattern PatternParser::capture(const Pattern& p) {
  take();
  const auto name = expect(TokenKind::kWord, "the name of what matched");
  if (!name) return p;
  PatternNode node = *p.get();
  node.capture = std::string(text_of(*name));
  return Pattern(std::make_shared<PatternNode>(std::move(node)));
}

}  // namespace tessera::relay
