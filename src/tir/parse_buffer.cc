// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tir/parser.h"

namespace tessera::tir {

Result<std::vector<Expr>> Parser::tuple() {
  TESSERA_TRY_VOID(expect("("));
  return exprs_until(")");
}

Result<void> Parser::buffer_option(BufferNode& b, std::string_view option) {
  TESSERA_TRY_VOID(expect("="));
  if (option == "strides") {
    TESSERA_TRY(b.strides, tuple());
    if (b.strides.size() == b.shape.size()) return {};
    return unexpected("one stride a dimension");
  }
  if (option == "align") {
    TESSERA_TRY(b.align_bytes, integer());
    if (b.align_bytes > 0 && (b.align_bytes & (b.align_bytes - 1)) == 0) return {};
    return unexpected("an alignment that is a power of two");
  }
  TESSERA_TRY(const std::string word, string());
  const auto* scope = std::ranges::find(kScopeWords, word);
  if (option != "scope" || scope == std::end(kScopeWords))
    return unexpected("strides, scope or align");
  b.scope = static_cast<MemoryScope>(scope - std::begin(kScopeWords));
  return {};
}

// `(n, 4), "float32", scope="stack")`, the opening parenthesis taken already.
Result<void> Parser::buffer_type(BufferNode& b) {
  TESSERA_TRY(b.shape, tuple());
  TESSERA_TRY_VOID(expect(","));
  TESSERA_TRY(b.dtype, dtype_string());
  while (accept(",")) {
    TESSERA_TRY(const Token option, expect_name("strides, scope or align"));
    TESSERA_TRY_VOID(buffer_option(b, option.text));
  }
  return expect(")");
}

Result<Parser::Definition> Parser::definition() {
  TESSERA_TRY(const Token what, expect_name("`T.alloc_buffer` or another definition"));
  TESSERA_TRY_VOID(expect("("));
  Definition d;
  d.what = what.text;
  d.node = new BufferNode;
  d.buffer = Buffer(d.node);
  if (what.text == "T.alloc_buffer") {
    TESSERA_TRY_VOID(buffer_type(*d.node));
  } else if (what.text == "T.view") {
    TESSERA_TRY(d.source, buffer());
    TESSERA_TRY_VOID(expect(","));
    TESSERA_TRY_VOID(buffer_type(*d.node));
  } else if (what.text == "T.allocate_const") {
    const bool is_list = lexer().next_is("[");
    std::vector<Element> list;
    if (is_list) {
      TESSERA_TRY(list, elements());
    } else {
      TESSERA_TRY(d.data, stored_constant());
    }
    TESSERA_TRY_VOID(expect(","));
    TESSERA_TRY_VOID(buffer_type(*d.node));
    if (is_list) {
      TESSERA_TRY(d.data, immediate(list, *d.node));
    }
  } else {
    return fail(error(Code::kSyntax, lexer().at(what), "`{}` defines no buffer", what.text)
                    .with_remedy("use T.alloc_buffer, T.allocate_const or T.view"));
  }
  return d;
}

Result<std::vector<Parser::Element>> Parser::elements() {
  TESSERA_TRY_VOID(expect("["));
  std::vector<Element> list;
  while (!accept("]")) {
    if (!list.empty()) {
      TESSERA_TRY_VOID(expect(","));
    }
    const bool negative = accept("-");
    const TokenKind kind = lexer().peek().kind;
    if (kind != TokenKind::kInt && kind != TokenKind::kFloat && kind != TokenKind::kName) {
      return unexpected("a number");
    }
    list.push_back({lexer().take(), negative});
  }
  return list;
}

// The numbers as a tensor with the shape and dtype of the buffer.
Result<ConstantValue> Parser::immediate(const std::vector<Element>& list, const BufferNode& b) {
  if (b.dtype.lanes != 1 || !(b.dtype.is_float() || b.dtype.is_int() || b.dtype.is_bool())) {
    return fail(error(Code::kBadLiteral, lexer().at(lexer().peek()),
                      "the numbers of a constant are not {}", to_string(b.dtype))
                    .with_remedy("give it a data type of one number, such as \"float32\""));
  }
  std::vector<std::int64_t> shape, ints;
  std::int64_t size = 1;
  for (const Expr& extent : b.shape) {
    const std::int64_t* n = as_int(extent);
    if (n == nullptr || *n < 0) return unexpected("a constant whose shape is made of numbers");
    shape.push_back(*n);
    if (__builtin_mul_overflow(size, *n, &size)) return unexpected("a smaller shape");
  }
  if (size != static_cast<std::int64_t>(list.size())) {
    return fail(error(Code::kShapeMismatch, lexer().at(lexer().peek()),
                      "the constant has {} elements and its shape {}", list.size(), size));
  }
  std::vector<double> floats;
  for (const Element& e : list) {
    if (b.dtype.is_float()) {
      TESSERA_TRY(const Expr value, number(e.token, e.negative, kFloat64));
      floats.push_back(value.as<FloatImm>()->value);
    } else {
      TESSERA_TRY(const Expr value, number(e.token, e.negative, b.dtype));
      ints.push_back(value.as<IntImm>()->value);
    }
  }
  return ConstantValue(b.dtype.is_float() ? tensor_from_doubles(shape, b.dtype, floats)
                                          : tensor_from_ints(shape, b.dtype, ints));
}

// `T.pool(3)` or `meta[relay.Constant][3]`.
Result<ConstantValue> Parser::stored_constant() {
  const Token where = lexer().peek();
  const bool pool = accept("T.pool");
  if (pool) {
    TESSERA_TRY_VOID(expect("("));
  } else {
    for (const std::string_view part : {"meta", "[", "relay.Constant", "]", "["}) {
      TESSERA_TRY_VOID(expect(part));
    }
  }
  TESSERA_TRY(const std::int64_t index, integer());
  TESSERA_TRY_VOID(expect(pool ? ")" : "]"));
  if (index < 0 || index >= ConstantIndex::kInvalid) return unexpected("a smaller index");
  if (pool) return ConstantValue(ConstantIndex(static_cast<std::size_t>(index)));
  std::optional<Tensor> tensor;
  if (options_.constant) tensor = options_.constant(static_cast<std::uint32_t>(index));
  if (!tensor) {
    return fail(
        error(Code::kBadMetadata, lexer().at(where), "the metadata hold no constant {}", index));
  }
  return ConstantValue(*std::move(tensor));
}

}  // namespace tessera::tir
