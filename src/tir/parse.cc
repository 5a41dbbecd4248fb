// SPDX-License-Identifier: Apache-2.0
#include "tir/parse.h"

#include <algorithm>

#include "tir/barrier.h"
#include "tir/compare.h"
#include "tir/parser.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

constexpr int kMaxNesting = 2000;  // of blocks: a limit on the stack

}  // namespace

Result<void> Parser::parameters(PrimFunc& f) {
  bool outputs = false;
  while (!accept(")")) {
    if (accept("*")) {
      outputs = true;
    } else {
      TESSERA_TRY(const Token name, expect_name("a parameter"));
      TESSERA_TRY_VOID(expect(":"));
      TESSERA_TRY(const Token type, expect_name("`T.Buffer` or a data type"));
      if (type.text == "T.Buffer") {
        TESSERA_TRY_VOID(expect("("));
        auto* node = new BufferNode;
        const Buffer b(node);
        node->name = name.text;
        TESSERA_TRY_VOID(buffer_type(*node));
        complete(*node, false);
        define(name.text, b);
        (outputs ? f.outputs : f.inputs).push_back(b);
      } else {
        const auto dtype =
            parse_dtype(type.text.substr(std::min<std::size_t>(2, type.text.size())));
        if (!dtype) return unexpected("`T.Buffer(...)` or a data type such as `T.int64`");
        f.dims.push_back(make_var(std::string(name.text), *dtype));
        define(name.text, f.dims.back());
      }
    }
    if (!lexer().next_is(")")) {
      TESSERA_TRY_VOID(expect(","));
    }
  }
  return {};
}

Result<void> Parser::attributes(PrimFunc& f) {
  TESSERA_TRY_VOID(expect("("));
  TESSERA_TRY_VOID(expect("{"));
  while (!accept("}")) {
    TESSERA_TRY(std::string key, string());
    TESSERA_TRY_VOID(expect(":"));
    TESSERA_TRY(f.attrs[key], string());
    if (!lexer().next_is("}")) {
      TESSERA_TRY_VOID(expect(","));
    }
  }
  return expect(")");
}

Result<ParsedPrimFunc> Parser::function() {
  ParsedPrimFunc out;
  TESSERA_TRY_VOID(expect("@"));
  TESSERA_TRY_VOID(expect("T.prim_func"));
  if (accept("(")) {
    TESSERA_TRY_VOID(expect("host"));
    TESSERA_TRY_VOID(expect("="));
    TESSERA_TRY_VOID(expect("True"));
    TESSERA_TRY_VOID(expect(")"));
    out.func.is_host = is_host_ = true;
  }
  const Token def = lexer().peek();
  TESSERA_TRY_VOID(expect("def"));
  TESSERA_TRY(const Token name, expect_name("the function's name"));
  out.name = name.text;
  out.func.sources = {lexer().at(name)};
  TESSERA_TRY_VOID(expect("("));
  TESSERA_TRY_VOID(parameters(out.func));
  TESSERA_TRY_VOID(expect(":"));
  const std::uint32_t column = lexer().peek().column;
  if (lexer().next_is("T.func_attr")) {
    lexer().take();
    TESSERA_TRY_VOID(attributes(out.func));
    if (at_statement(column)) {
      TESSERA_TRY(out.func.body, rest_of_block(column));
    } else {
      out.func.body = seq({});
    }
  } else {
    TESSERA_TRY(out.func.body, block(def.column));
  }
  out.end = lexer().peek().begin;
  return out;
}

Result<Stmt> Parser::block(std::uint32_t outer_column) {
  const Token& first = lexer().peek();
  if (!first.first_in_line || first.column <= outer_column || first.kind == TokenKind::kEnd) {
    return unexpected("an indented statement");
  }
  const std::uint32_t column = first.column;
  return in_scope([&] { return rest_of_block(column); });
}

// The scope of a definition is the rest of the block, which is read in the same loop: blocks are as
// long as programs are.
Result<Stmt> Parser::rest_of_block(std::uint32_t column) {
  if (++nesting_ > kMaxNesting) return unexpected("less nesting");
  std::vector<std::vector<Stmt>> scopes(1);  // each of the last statement before
  while (at_statement(column)) {
    bool opens_scope = false;
    TESSERA_TRY(Stmt s, statement(column, opens_scope));
    scopes.back().push_back(std::move(s));
    if (opens_scope) scopes.emplace_back();
    const Token& next = lexer().peek();
    if (next.text != "}" && next.kind != TokenKind::kEnd &&
        (!next.first_in_line || next.column > column)) {
      return unexpected("a new line with the indentation of the block");
    }
  }
  --nesting_;
  Stmt rest = seq(std::move(scopes.back()));
  for (std::size_t i = scopes.size() - 1; i-- > 0;) {
    scopes[i].back() = with_scope(scopes[i].back(), rest);
    rest = seq(std::move(scopes[i]));
  }
  return rest;
}

// A definition is given without what is in its scope.
Result<Stmt> Parser::statement(std::uint32_t column, bool& opens_scope) {
  if (accept("pass")) return seq({});
  if (lexer().next_is("for")) return loop(column);
  if (lexer().next_is("if")) return branch(column);
  if (lexer().next_is("with")) return scoped(column);
  if (accept("while")) {
    TESSERA_TRY(Expr condition, expr());
    TESSERA_TRY_VOID(expect(":"));
    TESSERA_TRY(Stmt body, block(column));
    return While::make(std::move(condition), std::move(body));
  }
  TESSERA_TRY(const Token name, expect_name("a statement"));
  if (name.text.starts_with("T.")) return script_statement(name);
  if (lexer().next_is("[")) return store(name);
  opens_scope = true;
  if (accept(":")) return let(name);
  TESSERA_TRY_VOID(expect("="));
  TESSERA_TRY(Definition d, definition());
  define_buffer(d, name);
  return defining(std::move(d), seq({}));
}

Result<Stmt> Parser::loop(std::uint32_t column) {
  TESSERA_TRY_VOID(expect("for"));
  TESSERA_TRY(const Token name, expect_name("the loop variable"));
  TESSERA_TRY_VOID(expect("in"));
  const Token word = lexer().peek();
  TESSERA_TRY(const Token kind, expect_name("`T.serial` or another kind of loop"));
  const auto* found =
      std::ranges::find(kLoopWords, kind.text.substr(std::min<std::size_t>(2, kind.text.size())));
  if (!kind.text.starts_with("T.") || found == std::end(kLoopWords)) {
    return fail(error(Code::kSyntax, lexer().at(word), "`{}` is not a kind of loop", kind.text)
                    .with_remedy("use T.serial, T.parallel, T.vectorized or T.unrolled; on devices "
                                 "T.grid, T.warps, T.blocks and T.threads"));
  }
  TESSERA_TRY_VOID(expect("("));
  TESSERA_TRY(const std::vector<Expr> range, exprs_until(")"));
  if (range.empty() || range.size() > 2) return unexpected("`(extent)` or `(begin, end)`");
  for (const Expr& limit : range) {
    if (limit.dtype().is_int()) continue;
    return fail(error(Code::kDtypeMismatch, lexer().at(word), "a loop counts integers, not {}",
                      to_string(limit.dtype())));
  }
  TESSERA_TRY_VOID(expect(":"));
  Expr min = range.size() == 1 ? int_imm(0, range[0].dtype()) : range[0];
  Expr extent = range.back();
  if (range.size() == 2) {
    const auto* sum = range[1].as<Add>();
    if (range[0].dtype() != range[1].dtype()) return unexpected("two limits of one type");
    extent = sum != nullptr && equal(sum->a, min) ? sum->b : range[1] - min;
  }
  const Expr var = make_var(std::string(name.text), min.dtype());
  TESSERA_TRY(Stmt body, in_scope([&] {
                define(name.text, var);
                return block(column);
              }));
  const auto loop_kind = static_cast<ForKind>(found - std::begin(kLoopWords));
  return For::make(var, std::move(min), std::move(extent), loop_kind, std::move(body));
}

Result<Stmt> Parser::branch(std::uint32_t column) {
  TESSERA_TRY_VOID(expect("if"));
  TESSERA_TRY(Expr condition, expr());
  TESSERA_TRY_VOID(expect(":"));
  TESSERA_TRY(Stmt then_case, block(column));
  Stmt else_case;
  if (at_statement(column) && accept("else")) {
    TESSERA_TRY_VOID(expect(":"));
    TESSERA_TRY(else_case, block(column));
  }
  return IfThenElse::make(std::move(condition), std::move(then_case), std::move(else_case));
}

// `with T.let(e) as x:`, `with T.alloc_buffer(...) as b:` and the like: a scope that ends before
// its block does.
Result<Stmt> Parser::scoped(std::uint32_t column) {
  TESSERA_TRY_VOID(expect("with"));
  Expr value;
  Definition d;
  if (accept("T.let")) {
    TESSERA_TRY_VOID(expect("("));
    TESSERA_TRY(value, expr());
    TESSERA_TRY_VOID(expect(")"));
  } else {
    TESSERA_TRY(d, definition());
  }
  TESSERA_TRY_VOID(expect("as"));
  TESSERA_TRY(const Token name, expect_name("a name"));
  TESSERA_TRY_VOID(expect(":"));
  return in_scope([&]() -> Result<Stmt> {
    if (!value) {
      define_buffer(d, name);
      TESSERA_TRY(Stmt body, block(column));
      return defining(std::move(d), std::move(body));
    }
    const Expr var = make_var(std::string(name.text), value.dtype());
    define(name.text, var);
    TESSERA_TRY(Stmt body, block(column));
    return LetStmt::make(var, value, std::move(body));
  });
}

Result<Stmt> Parser::script_statement(const Token& name) {
  if (name.text == "T.evaluate") {
    TESSERA_TRY_VOID(expect("("));
    TESSERA_TRY(Expr value, expr());
    TESSERA_TRY_VOID(expect(")"));
    return Evaluate::make(std::move(value));
  }
  if (name.text == "T.barrier") {
    TESSERA_TRY_VOID(expect("("));
    TESSERA_TRY_VOID(expect(")"));
    return barrier();
  }
  if (name.text == "T.call_kernel") return call_kernel();
  if (name.text == "T.require") return require();
  if (name.text == "T.reserve") {
    TESSERA_TRY_VOID(expect("("));
    TESSERA_TRY(Buffer what, buffer());
    TESSERA_TRY_VOID(expect(")"));
    return Reserve::make(std::move(what));
  }
  return fail(error(Code::kSyntax, lexer().at(name), "`{}` is not a statement", name.text));
}

Result<std::vector<Buffer>> Parser::buffer_list() {
  TESSERA_TRY_VOID(expect("["));
  std::vector<Buffer> list;
  while (!accept("]")) {
    if (!list.empty()) {
      TESSERA_TRY_VOID(expect(","));
    }
    TESSERA_TRY(Buffer b, buffer());
    list.push_back(std::move(b));
  }
  return list;
}

Result<Stmt> Parser::call_kernel() {
  TESSERA_TRY_VOID(expect("("));
  TESSERA_TRY(std::string symbol, string());
  TESSERA_TRY_VOID(expect(","));
  TESSERA_TRY(std::vector<Buffer> inputs, buffer_list());
  TESSERA_TRY_VOID(expect(","));
  TESSERA_TRY(std::vector<Buffer> outputs, buffer_list());
  TESSERA_TRY_VOID(expect(","));
  TESSERA_TRY_VOID(expect("["));
  TESSERA_TRY(std::vector<Expr> dims, exprs_until("]"));
  TESSERA_TRY_VOID(expect(")"));
  return CallKernel::make(std::move(symbol), std::move(inputs), std::move(outputs),
                          std::move(dims));
}

Result<Stmt> Parser::require() {
  TESSERA_TRY_VOID(expect("("));
  TESSERA_TRY(Expr condition, expr());
  TESSERA_TRY_VOID(expect(","));
  TESSERA_TRY(std::string sentence, string());
  std::vector<Expr> values;
  if (accept(",")) {
    TESSERA_TRY(values, exprs_until(")"));
  } else {
    TESSERA_TRY_VOID(expect(")"));
  }
  return Require::make(std::move(condition), std::move(sentence), std::move(values));
}

Result<Stmt> Parser::let(const Token& name) {
  TESSERA_TRY(const Token type, expect_name("a data type such as `T.float32`"));
  const auto dtype = parse_dtype(type.text.substr(std::min<std::size_t>(2, type.text.size())));
  if (!dtype) return unexpected("a data type such as `T.float32` and a value");
  TESSERA_TRY_VOID(expect("="));
  const Token first = lexer().peek();
  TESSERA_TRY(Expr value, expr());
  if (value.dtype() != *dtype) {
    return fail(error(Code::kDtypeMismatch, lexer().at(first), "`{}` is {} and its value {}",
                      name.text, to_string(*dtype), to_string(value.dtype())));
  }
  const Expr var = make_var(std::string(name.text), *dtype);
  define(name.text, var);
  return LetStmt::make(var, std::move(value), seq({}));
}

void Parser::define_buffer(const Definition& d, const Token& name) {
  d.node->name = name.text;
  complete(*d.node, d.what == "T.alloc_buffer");
  define(name.text, d.buffer);
}

Stmt Parser::defining(Definition d, Stmt scope) {
  if (d.what == "T.view") return View::make(d.buffer, d.source, std::move(scope));
  if (d.what == "T.alloc_buffer") return Allocate::make(d.buffer, std::move(scope));
  return AllocateConst::make(d.buffer, std::move(d.data), std::move(scope));
}

Result<Stmt> Parser::store(const Token& name) {
  // Read as a load, which checks name and indices, and taken apart again.
  TESSERA_TRY(const Expr target, named(name));
  const auto* element = target.as<Load>();
  TESSERA_TRY_VOID(expect("="));
  const Token first = lexer().peek();
  TESSERA_TRY(Expr value, expr());
  adapt_literal(value, target.dtype());
  if (element == nullptr || value.dtype() != target.dtype()) {
    return fail(error(Code::kDtypeMismatch, lexer().at(first), "`{}` is {} and its value {}",
                      name.text, to_string(target.dtype()), to_string(value.dtype())));
  }
  return Store::make(element->buffer, element->indices, std::move(value));
}

Result<ParsedPrimFunc> parse_prim_func(std::shared_ptr<const SourceFile> file, std::uint32_t begin,
                                       const ParseOptions& options) {
  return Parser(std::move(file), begin, options).function();
}

Result<PrimFunc> parse_prim_func(std::string_view text, const ParseOptions& options) {
  auto file = std::make_shared<SourceFile>(SourceFile{"-", std::string(text)});
  TESSERA_TRY(ParsedPrimFunc parsed, parse_prim_func(file, 0, options));
  if (parsed.end != file->text.size()) {
    return fail(error(Code::kSyntax, file_location(file, parsed.end, parsed.end + 1),
                      "the function ends here, and the text goes on"));
  }
  return std::move(parsed.func);
}

Result<Expr> parse_expr(std::string_view text, const std::vector<Expr>& vars) {
  auto file = std::make_shared<SourceFile>(SourceFile{"-", std::string(text)});
  ExprParser parser(file, 0);
  for (const Expr& var : vars) parser.define(var.as<Var>()->name, var);
  TESSERA_TRY(Expr e, parser.expr());
  if (parser.lexer().peek().kind != TokenKind::kEnd)
    return parser.unexpected("the end of the text");
  return e;
}

}  // namespace tessera::tir
