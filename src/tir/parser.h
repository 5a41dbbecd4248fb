// SPDX-License-Identifier: Apache-2.0
// The parser of functions: statements in parse.cc, definitions of buffers in parse_buffer.cc,
// expressions in parse_expr.cc.
#pragma once

#include <vector>

#include "tir/parse_expr.h"

namespace tessera::tir {

class Parser : public ExprParser {
 public:
  Parser(std::shared_ptr<const SourceFile> file, std::uint32_t begin, const ParseOptions& options)
      : ExprParser(std::move(file), begin), options_(options) {}

  Result<ParsedPrimFunc> function();

 private:
  Result<void> parameters(PrimFunc& f);
  Result<void> attributes(PrimFunc& f);
  Result<Stmt> block(std::uint32_t outer_column);
  Result<Stmt> rest_of_block(std::uint32_t column);
  Result<Stmt> statement(std::uint32_t column, bool& opens_scope);
  Result<Stmt> loop(std::uint32_t column);
  Result<Stmt> branch(std::uint32_t column);
  Result<Stmt> scoped(std::uint32_t column);
  Result<Stmt> script_statement(const Token& name);
  Result<Stmt> call_kernel();
  Result<Stmt> require();
  Result<Stmt> store(const Token& name);
  Result<Stmt> let(const Token& name);
  // What follows `b =` or `with`; the name comes before or after it.
  struct Definition {
    std::string_view what;
    BufferNode* node = nullptr;  // of `buffer`, which nobody else has seen yet
    Buffer buffer, source;
    ConstantValue data;
    std::optional<Tensor> pooled = {};  // what `data` names, where that is checked
  };
  // A number of a list whose dtype follows it.
  struct Element {
    Token token;
    bool negative = false;
  };
  Result<Definition> definition();
  void define_buffer(const Definition& d, const Token& name);
  static Stmt defining(Definition d, Stmt scope);
  Result<void> buffer_type(BufferNode& b);
  void complete(BufferNode& b, bool is_allocated) const;
  Result<void> buffer_option(BufferNode& b, std::string_view option);
  Result<std::vector<Expr>> tuple();
  Result<std::vector<std::string>> strings();
  Result<std::vector<Buffer>> buffer_list();
  Result<std::vector<Element>> elements();
  Result<void> stored_constant(Definition& d);
  Result<void> pooled_constant(Definition& d, std::uint32_t index, const Token& where);
  Result<void> check_pooled(const Definition& d, const Token& at);
  Result<ConstantValue> immediate(const std::vector<Element>& elements, const BufferNode& b);
  bool at_statement(std::uint32_t column) {
    const Token& t = lexer().peek();
    return t.kind != TokenKind::kEnd && t.first_in_line && t.column == column && t.text != "}";
  }
  template <class F>
  Result<Stmt> in_scope(F&& body) {
    const std::size_t mark = enter();
    auto result = body();
    leave(mark);
    return result;
  }

  const ParseOptions& options_;
  bool is_host_ = false;
  int nesting_ = 0;
};

}  // namespace tessera::tir
