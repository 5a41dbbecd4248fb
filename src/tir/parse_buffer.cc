// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tir/parser.h"
#include "tir/verify_buffer.h"

namespace tessera::tir {
namespace {

constexpr std::string_view kBufferOptions = "strides, scope, space, align, pools or offset";

}  // namespace

Result<std::vector<Expr>> Parser::tuple() {
  TESSERA_TRY_VOID(expect("("));
  return exprs_until(")");
}

Result<std::vector<std::string>> Parser::strings() {
  TESSERA_TRY_VOID(expect("["));
  std::vector<std::string> list;
  while (!accept("]")) {
    if (!list.empty()) {
      TESSERA_TRY_VOID(expect(","));
    }
    TESSERA_TRY(list.emplace_back(), string());
  }
  return list;
}

Result<void> Parser::buffer_option(BufferNode& b, std::string_view option) {
  TESSERA_TRY_VOID(expect("="));
  if (option == "strides") {
    TESSERA_TRY(b.strides, tuple());
    if (b.strides.size() == b.shape.size()) return {};
    return unexpected("one stride a dimension");
  }
  if (option == "pools") {
    TESSERA_TRY(b.pools, strings());
    return {};
  }
  if (option == "offset") {
    TESSERA_TRY(b.offset_bytes, integer());
    if (b.offset_bytes >= 0) return {};
    return unexpected("an offset of 0 or more");
  }
  if (option == "align") {
    TESSERA_TRY(b.align_bytes, integer());
    if (b.align_bytes > 0 && (b.align_bytes & (b.align_bytes - 1)) == 0) return {};
    return unexpected("an alignment that is a power of two");
  }
  TESSERA_TRY(const std::string word, string());
  if (option == "space") {
    b.space = parse_memory_space(word);
    if (b.space) return {};
    return unexpected("a memory space: host, pinned, cuda, cuda:1 or constant");
  }
  const auto* scope = std::ranges::find(kScopeWords, word);
  if (option != "scope" || scope == std::end(kScopeWords)) return unexpected(kBufferOptions);
  b.scope = static_cast<MemoryScope>(scope - std::begin(kScopeWords));
  return {};
}

// `(n, 4), "float32", scope="stack")`, the opening parenthesis taken already.
Result<void> Parser::buffer_type(BufferNode& b) {
  TESSERA_TRY(b.shape, tuple());
  TESSERA_TRY_VOID(expect(","));
  TESSERA_TRY(b.dtype, dtype_string());
  while (accept(",")) {
    TESSERA_TRY(const Token option, expect_name(kBufferOptions));
    TESSERA_TRY_VOID(buffer_option(b, option.text));
  }
  return expect(")");
}

// The frame of a host program is in the host's memory. Earlier texts say "stack" of all that is
// there, of inputs, constants and views too.
void Parser::complete(BufferNode& b, bool is_allocated) const {
  if (!is_host_ || b.scope != MemoryScope::kStack) return;
  if (!b.space) b.space = MemorySpace();
  if (!is_allocated) b.scope = MemoryScope::kGlobal;
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
      TESSERA_TRY_VOID(stored_constant(d));
    }
    TESSERA_TRY_VOID(expect(","));
    TESSERA_TRY_VOID(buffer_type(*d.node));
    if (is_list) {
      TESSERA_TRY(d.data, immediate(list, *d.node));
    }
    TESSERA_TRY_VOID(check_pooled(d, what));
  } else {
    return fail(error(Code::kSyntax, lexer().at(what), "`{}` defines no buffer", what.text)
                    .with_remedy("use T.alloc_buffer, T.allocate_const or T.view"));
  }
  return d;
}

// A constant of the pool with another shape or type than the text says would be read as what it is
// not.
Result<void> Parser::check_pooled(const Definition& d, const Token& at) {
  if (!d.pooled || has_type_of(*d.node, *d.pooled)) return {};
  return fail(error(Code::kShapeMismatch, lexer().at(at),
                    "the constant does not have the shape and type of its data, {}",
                    to_string(d.pooled->type()))
                  .with_remedy("write the shape and type that it has in the pool"));
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

Result<void> Parser::pooled_constant(Definition& d, std::uint32_t index, const Token& where) {
  d.data = ConstantIndex(index);
  if (!options_.pooled) return {};
  std::optional<PooledConstant> found = options_.pooled(index);
  if (!found) {
    return fail(error(Code::kBadMetadata, lexer().at(where), "the pool holds no constant {}", index)
                    .with_remedy("the pool is the constants of the metadata, in their order"));
  }
  d.data = found->index;
  d.pooled = std::move(found->data);
  return {};
}

// `T.pool(3)` or `meta[relay.Constant][3]`.
Result<void> Parser::stored_constant(Definition& d) {
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
  if (pool) return pooled_constant(d, static_cast<std::uint32_t>(index), where);
  std::optional<Tensor> tensor;
  if (options_.constant) tensor = options_.constant(static_cast<std::uint32_t>(index));
  if (!tensor) {
    return fail(
        error(Code::kBadMetadata, lexer().at(where), "the metadata hold no constant {}", index));
  }
  d.data = *std::move(tensor);
  return {};
}

}  // namespace tessera::tir
