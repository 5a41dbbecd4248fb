// SPDX-License-Identifier: Apache-2.0
// Types and dimensions.
#include <algorithm>

#include "relay/text/parse_value.h"
#include "relay/text/parser.h"

namespace tessera::relay {

Type Parser::type() {
  const Nesting nesting(*this);
  if (at_punct("(")) return tuple_type(type_list());
  if (at_word("fn")) {
    take();
    if (at_punct("[")) unsupported(peek(), "type parameters are");
    std::vector<Type> params = type_list();
    expect("->");
    Type result = type();
    return panicking_ ? Type() : function_type(std::move(params), std::move(result));
  }
  if (at_word("_")) {
    take();
    return {};
  }
  if (at_word("Tensor")) return tensor();
  return scalar_type();
}

std::vector<Type> Parser::type_list() {
  std::vector<Type> out;
  expect("(");
  while (!panicking_ && !at_punct(")")) {
    if (at_word("_")) unsupported(peek(), "an unknown type inside another one is");
    out.push_back(type());
    if (!accept(",")) break;
  }
  expect(")");
  return out;
}

Type Parser::scalar_type() {
  const auto word = expect(TokenKind::kWord, "a type");
  if (!word) return {};
  const auto dtype = parse_dtype(text_of(*word));
  if (dtype) return tensor_type({}, *dtype);
  fail_syntax(
      error(Code::kUnsupportedSyntax, location(*word),
            "`{}` is not a data type; type variables and algebraic data types are not supported",
            text_of(*word)));
  return {};
}

Type Parser::tensor() {
  const Token start = take();
  expect("[");
  expect("(");
  Shape shape;
  while (!panicking_ && !at_punct(")")) {
    shape.push_back(dim());
    if (!accept(",")) break;
  }
  expect(")");
  expect(",");
  const auto word = expect(TokenKind::kWord, "a data type");
  const auto dtype = word ? parse_dtype(text_of(*word)) : std::nullopt;
  if (word && !dtype) {
    report(error(Code::kDtypeMismatch, location(*word), "`{}` is not a data type", text_of(*word)));
  }
  expect("]");
  const bool known =
      std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d.is_constant(); });
  if (known && !num_elements(shape).is_constant()) {
    report(error(Code::kBadDimension, location(start.begin, last_end_),
                 "the number of elements of this tensor overflows 64 bits"));
    shape.clear();
  }
  return tensor_type(std::move(shape), dtype.value_or(kFloat32));
}

Dim Parser::dim() {
  const Token t = peek();
  if (t.kind == TokenKind::kNumber) {
    take();
    const auto size = parse_size(text_of(t));
    if (!size) {
      report(error(Code::kBadDimension, location(t),
                   "`{}` is not a size: a size is an integer from 0 to 2^63 - 1", text_of(t)));
    }
    return size.value_or(1);
  }
  if (accept("?")) return symbolic_dim(t);
  if (t.kind != TokenKind::kMeta) {
    fail_expected("a dimension: a number, `?` or `?name`");
    return 1;
  }
  take();
  const auto ref = parse_meta(text_of(t));
  const auto list = ref ? metadata_.size_vars.find(ref->key) : metadata_.size_vars.end();
  if (list == metadata_.size_vars.end() || ref->index >= list->second.size() ||
      !is_symbol_name(list->second[ref->index])) {
    report(error(Code::kBadMetadata, location(t),
                 "`{}` names no size variable of the metadata section", text_of(t)));
    return Dim::unknown();
  }
  return Dim::symbol(list->second[ref->index]);
}

// After the `?`, without a space: nothing, a name, or an expression in parentheses.
Dim Parser::symbolic_dim(const Token& mark) {
  const Token t = peek();
  if (t.begin != mark.end || (t.kind != TokenKind::kWord && !at_punct("("))) return Dim::unknown();
  std::uint32_t end = t.end;
  if (t.kind != TokenKind::kWord) {
    const std::string_view source = lexer_.source();
    int depth = 1;
    for (; depth > 0 && end < source.size() && source[end] != '\n'; ++end) {
      depth += source[end] == '(' ? 1 : source[end] == ')' ? -1 : 0;
    }
  }
  const std::string_view text = lexer_.source().substr(t.begin, end - t.begin);
  const auto dim = parse_dim_expression(text);
  if (!dim) {
    fail_syntax(error(Code::kBadDimension, location(mark.begin, end),
                      "`?{}` is not a dimension: write `?`, `?seq` or `?(2*seq+1)`",
                      text.substr(0, 60)));
    return Dim::unknown();
  }
  lexer_.seek(end);
  return *dim;
}

}  // namespace tessera::relay
