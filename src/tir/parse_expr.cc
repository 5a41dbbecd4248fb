// SPDX-License-Identifier: Apache-2.0
#include "tir/parse_expr.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

namespace tessera::tir {
namespace {

// Limits on the stack, of the parser and of walks: `a + b + c` nests in the tree alone.
constexpr int kMaxDepth = 500, kMaxHeight = 1000;

Expr make_binary(ExprKind kind, DType dtype, Expr a, Expr b) {
  switch (kind) {
#define BINARY(N)   \
  case ExprKind::N: \
    return N::make(dtype, std::move(a), std::move(b));
#include "tir/binary.def"
#undef BINARY
    default:
      TESSERA_UNREACHABLE("expression kind {} has not two operands", static_cast<int>(kind));
  }
}

}  // namespace

void adapt_literal(Expr& literal, DType wanted) {
  const std::int64_t* value = as_int(literal);
  if (value != nullptr && literal.dtype() == kInt64 && wanted != kInt64 && wanted.lanes == 1 &&
      wanted.code != TypeCode::kHandle) {
    literal = imm(static_cast<double>(*value), wanted);
  }
}

namespace {

std::optional<InfixWord> infix_word(const Token& token) {
  if (token.kind != TokenKind::kPunct && token.kind != TokenKind::kName) return std::nullopt;
  // `a > b` is read as `b < a`; the operands are swapped where it is built.
  if (token.text == ">") return InfixWord{ExprKind::Lt, ">", kCompare};
  if (token.text == ">=") return InfixWord{ExprKind::Le, ">=", kCompare};
  const auto* word = std::ranges::find(kInfixWords, token.text, &InfixWord::text);
  if (word == std::end(kInfixWords)) return std::nullopt;
  return *word;
}

}  // namespace

Unexpected<Diagnostics> ExprParser::unexpected(std::string_view wanted) const {
  const Token& token = lexer_.peek();
  const std::string found =
      token.kind == TokenKind::kEnd ? "the end of the text" : fmt::format("`{}`", token.text);
  return fail(error(Code::kSyntax, lexer_.at(token), "found {} where {} should be", found, wanted));
}

bool ExprParser::accept(std::string_view text) {
  if (!lexer_.next_is(text)) return false;
  lexer_.take();
  return true;
}

Result<void> ExprParser::expect(std::string_view text) {
  if (!accept(text)) return unexpected(fmt::format("`{}`", text));
  return {};
}

Result<Token> ExprParser::expect_name(std::string_view what) {
  if (lexer_.peek().kind != TokenKind::kName) return unexpected(what);
  return lexer_.take();
}

Result<std::string> ExprParser::string() {
  if (lexer_.peek().kind != TokenKind::kString) return unexpected("a string in quotes");
  const Token token = lexer_.take();
  auto text = unquoted(token.text);
  if (!text) {
    return fail(error(Code::kBadLiteral, lexer_.at(token),
                      "the string is not closed in its line or has an unknown escape"));
  }
  return *std::move(text);
}

Result<DType> ExprParser::dtype_string() {
  const Token token = lexer_.peek();
  TESSERA_TRY(const std::string text, string());
  const auto dtype = parse_dtype(text);
  if (!dtype) {
    return fail(error(Code::kBadLiteral, lexer_.at(token), "`{}` is not a data type", text)
                    .with_remedy("write one such as \"float32\", \"int64\" or \"bool\""));
  }
  return *dtype;
}

Result<std::int64_t> ExprParser::integer() {
  const bool negative = accept("-");
  const Token token = lexer_.peek();
  if (token.kind != TokenKind::kInt) return unexpected("an integer");
  lexer_.take();
  TESSERA_TRY(const Expr value, number(token, negative, kInt64));
  return *as_int(value);
}

void ExprParser::add(Named named) {
  by_name_[named.name].push_back(names_.size());
  names_.push_back(std::move(named));
}

void ExprParser::leave(std::size_t mark) {
  for (; names_.size() > mark; names_.pop_back()) by_name_[names_.back().name].pop_back();
}

const ExprParser::Named* ExprParser::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() || it->second.empty() ? nullptr : &names_[it->second.back()];
}

Result<Buffer> ExprParser::buffer() {
  TESSERA_TRY(const Token name, expect_name("the name of a buffer"));
  const Named* found = find(name.text);
  if (found == nullptr || !found->buffer) {
    return fail(
        error(Code::kUnknownName, lexer_.at(name), "no buffer `{}` is defined here", name.text));
  }
  return found->buffer;
}

Result<std::vector<Expr>> ExprParser::exprs_until(std::string_view close) {
  std::vector<Expr> list;
  while (!accept(close)) {
    if (!list.empty()) {
      TESSERA_TRY_VOID(expect(","));
      if (accept(close)) break;  // a final comma
    }
    TESSERA_TRY(Expr e, expr());
    list.push_back(std::move(e));
  }
  return list;
}

Result<Expr> ExprParser::expr(int loosest) {
  if (++depth_ > kMaxDepth) return unexpected("an expression that nests less deeply");
  const int beside = std::exchange(height_, 0);
  TESSERA_TRY(Expr left, operand());
  int height = height_ + 1;
  while (true) {
    const auto word = infix_word(lexer_.peek());
    if (!word || word->precedence < loosest || lexer_.peek().first_in_line) break;
    const Token where = lexer_.take();
    height_ = 0;
    TESSERA_TRY(Expr right, expr(word->precedence + 1));
    height = std::max(height, height_) + 1;
    if (height > kMaxHeight) return unexpected("an expression that nests less deeply");
    if (where.text == ">" || where.text == ">=") std::swap(left, right);
    TESSERA_TRY(Expr both, infix(word->kind, std::move(left), std::move(right), where));
    left = std::move(both);
  }
  --depth_;
  height_ = std::max(beside, height);
  return left;
}

Result<Expr> ExprParser::infix(ExprKind kind, Expr a, Expr b, const Token& where) {
  adapt_literal(a, b.dtype());
  adapt_literal(b, a.dtype());
  const bool logical = kind == ExprKind::And || kind == ExprKind::Or;
  if (a.dtype() != b.dtype() || (logical && !a.dtype().is_bool())) {
    return fail(error(Code::kDtypeMismatch, lexer_.at(where),
                      "operands of `{}` have types {} and {}", where.text, to_string(a.dtype()),
                      to_string(b.dtype())));
  }
  const bool compares = kind >= ExprKind::Eq && kind <= ExprKind::Or;
  const DType dtype = compares ? kBool.with_lanes(a.dtype().lanes) : a.dtype();
  return make_binary(kind, dtype, std::move(a), std::move(b));
}

Result<Expr> ExprParser::operand() {
  const Token first = lexer_.peek();
  if (accept("not")) {
    TESSERA_TRY(Expr value, expr(kNot));
    if (!value.dtype().is_bool()) {
      return fail(
          error(Code::kDtypeMismatch, lexer_.at(first), "`not` of a {}", to_string(value.dtype())));
    }
    const DType dtype = value.dtype();
    return Not::make(dtype, std::move(value));
  }
  if (accept("-")) return negative();
  return atom();
}

Result<Expr> ExprParser::negative() {
  const Token token = lexer_.peek();
  if (token.kind == TokenKind::kInt || token.kind == TokenKind::kFloat) {
    lexer_.take();
    return number(token, true, token.kind == TokenKind::kInt ? kInt64 : kFloat32);
  }
  TESSERA_TRY(Expr value, expr(kUnary));
  if (!value.dtype().is_float() && !value.dtype().is_int()) {
    return fail(
        error(Code::kDtypeMismatch, lexer_.at(token), "`-` of a {}", to_string(value.dtype())));
  }
  return -std::move(value);
}

Result<Expr> ExprParser::atom() {
  const Token token = lexer_.peek();
  switch (token.kind) {
    case TokenKind::kInt:
      lexer_.take();
      return number(token, false, kInt64);
    case TokenKind::kFloat:
      lexer_.take();
      return number(token, false, kFloat32);
    case TokenKind::kString: {
      TESSERA_TRY(std::string text, string());
      return string_imm(std::move(text));
    }
    case TokenKind::kName:
      lexer_.take();
      return named(token);
    case TokenKind::kPunct:
      if (accept("(")) {
        TESSERA_TRY(Expr inner, expr());
        TESSERA_TRY_VOID(expect(")"));
        return inner;
      }
      break;
    case TokenKind::kEnd:
      break;
  }
  return unexpected("an expression");
}

Result<Expr> ExprParser::named(const Token& name) {
  if (name.text == "True" || name.text == "False") return bool_imm(name.text == "True");
  if (name.text.starts_with("T.")) return script_call(name);
  const Named* found = find(name.text);
  if (found == nullptr) {
    return fail(error(Code::kUnknownName, lexer_.at(name), "`{}` is not defined here", name.text));
  }
  if (found->var) return found->var;
  const Buffer b = found->buffer;
  TESSERA_TRY_VOID(expect("["));
  std::vector<Expr> indices;
  if (lexer_.next_is("(") && b->shape.empty()) {  // b[()]: no dimension
    TESSERA_TRY_VOID(expect("("));
    TESSERA_TRY_VOID(expect(")"));
    TESSERA_TRY_VOID(expect("]"));
  } else {
    TESSERA_TRY(indices, exprs_until("]"));
  }
  if (indices.size() != b->shape.size()) {
    return fail(error(Code::kWrongArity, lexer_.at(name),
                      "`{}` has {} dimensions and is read with {} indices", name.text,
                      b->shape.size(), indices.size()));
  }
  return load(b, std::move(indices));
}

Result<Expr> ExprParser::number(const Token& token, bool negative, DType dtype) {
  const auto bad = [&] {
    return fail(error(Code::kBadLiteral, lexer_.at(token), "`{}{}` does not fit {}",
                      negative ? "-" : "", token.text, to_string(dtype)));
  };
  if (dtype.is_float()) {
    const bool special = token.text == "inf" || token.text == "nan";  // elements of constants
    if (token.kind == TokenKind::kName && !special) return bad();
    const double value = std::strtod(std::string(token.text).c_str(), nullptr);
    return float_imm(negative ? -value : value, dtype);
  }
  if (dtype.is_bool() && (token.text == "True" || token.text == "False")) {
    return bool_imm(token.text == "True");
  }
  std::uint64_t magnitude = 0;
  const auto [end, problem] =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), magnitude);
  if (problem != std::errc() || end != token.text.data() + token.text.size()) return bad();
  const auto value = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
  const bool fits_sign =
      dtype == kUInt64 ? !negative || magnitude == 0 : (value < 0) == (negative && magnitude != 0);
  if (!fits_sign || wrap_int(value, dtype) != value) return bad();
  return int_imm(value, dtype);
}

// `3`, `-3.5` or `"inf"` before `)`: the argument of a literal such as T.float64(...).
Result<std::optional<Expr>> ExprParser::literal(DType dtype) {
  const Token token = lexer_.peek();
  if (token.kind == TokenKind::kString && dtype.is_float()) {
    TESSERA_TRY(const std::string text, string());
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (text == "inf") return std::optional(float_imm(kInfinity, dtype));
    if (text == "-inf") return std::optional(float_imm(-kInfinity, dtype));
    if (text == "nan")
      return std::optional(float_imm(std::numeric_limits<double>::quiet_NaN(), dtype));
    return fail(error(Code::kBadLiteral, lexer_.at(token), "`{}` is not a number", text));
  }
  Lexer ahead = lexer_;
  const bool negative = ahead.next_is("-");
  if (negative) ahead.take();
  const Token digits = ahead.take();
  const bool is_number =
      digits.kind == TokenKind::kInt || (digits.kind == TokenKind::kFloat && dtype.is_float());
  if (!is_number || !ahead.next_is(")") || dtype.lanes != 1) return std::optional<Expr>();
  lexer_ = ahead;
  TESSERA_TRY(Expr value, number(digits, negative, dtype));
  return std::optional(std::move(value));
}

Result<Expr> ExprParser::literal_or_cast(const Token& name, DType dtype) {
  if (dtype.is_float() || dtype.is_int()) {
    TESSERA_TRY(std::optional<Expr> value, literal(dtype));
    if (value) {
      TESSERA_TRY_VOID(expect(")"));
      return *std::move(value);
    }
  }
  TESSERA_TRY(Expr value, expr());
  TESSERA_TRY_VOID(expect(")"));
  if (value.dtype().lanes != dtype.lanes) {
    return fail(error(Code::kDtypeMismatch, lexer_.at(name), "a {} cannot be converted to {}",
                      to_string(value.dtype()), to_string(dtype)));
  }
  return Cast::make(dtype, std::move(value));
}

Result<Expr> ExprParser::vector(const Token& name) {
  TESSERA_TRY(Expr base, expr());
  TESSERA_TRY_VOID(expect(","));
  Expr stride;
  if (name.text == "T.Ramp") {
    TESSERA_TRY(stride, expr());
    TESSERA_TRY_VOID(expect(","));
  }
  TESSERA_TRY(const std::int64_t lanes, integer());
  TESSERA_TRY_VOID(expect(")"));
  const bool bad_stride = stride && stride.dtype() != base.dtype();
  if (lanes < 2 || lanes > 0xffff || base.dtype().lanes != 1 || bad_stride) {
    return fail(error(Code::kDtypeMismatch, lexer_.at(name),
                      "`{}` needs scalars of one type and 2 to 65535 lanes", name.text));
  }
  return stride ? ramp(std::move(base), std::move(stride), static_cast<int>(lanes))
                : broadcast(std::move(base), static_cast<int>(lanes));
}

Result<Expr> ExprParser::explicit_call() {
  TESSERA_TRY(const DType dtype, dtype_string());
  TESSERA_TRY_VOID(expect(","));
  TESSERA_TRY(std::string callee, string());
  std::vector<Expr> args;
  if (!accept(")")) {
    TESSERA_TRY_VOID(expect(","));
    TESSERA_TRY(args, exprs_until(")"));
  }
  return call(std::move(callee), std::move(args), dtype);
}

Result<Expr> ExprParser::intrinsic(const Token& name) {
  TESSERA_TRY(std::vector<Expr> args, exprs_until(")"));
  const std::string_view word = name.text.substr(2);
  const auto wrong = [&](std::string_view rule) {
    return fail(error(Code::kWrongArity, lexer_.at(name), "`{}` takes {}", name.text, rule));
  };
  if (word == "min" || word == "max") {
    if (args.size() != 2) return wrong("two operands");
    return infix(word == "min" ? ExprKind::Min : ExprKind::Max, args[0], args[1], name);
  }
  if (word == "if_then_else") {
    if (args.size() != 3 || !args[0].dtype().is_bool()) return wrong("a bool and two values");
    adapt_literal(args[1], args[2].dtype());
    adapt_literal(args[2], args[1].dtype());
    if (args[1].dtype() != args[2].dtype()) return wrong("two values of one type");
    return Select::make(args[1].dtype(), args[0], args[1], args[2]);
  }
  if (args.empty()) return wrong("an operand");
  return call(std::string(word), std::move(args));
}

Result<Expr> ExprParser::script_call(const Token& name) {
  TESSERA_TRY_VOID(expect("("));
  const std::string_view word = name.text.substr(2);
  if (const auto dtype = parse_dtype(word)) return literal_or_cast(name, *dtype);
  if (word == "Ramp" || word == "Broadcast") return vector(name);
  if (word == "call") return explicit_call();
  if (word == "Cast") {
    TESSERA_TRY(const DType dtype, dtype_string());
    TESSERA_TRY_VOID(expect(","));
    TESSERA_TRY(Expr value, expr());
    TESSERA_TRY_VOID(expect(")"));
    return Cast::make(dtype, std::move(value));
  }
  return intrinsic(name);
}

}  // namespace tessera::tir
