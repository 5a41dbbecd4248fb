// SPDX-License-Identifier: Apache-2.0
// The part of the parser that reads expressions; parse.cc reads statements with it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tir/parse.h"
#include "tir/script.h"
#include "tir/token.h"

namespace tessera::tir {

// A literal of int64 takes the dtype of what it meets: `x * 2` for a float32 x.
void adapt_literal(Expr& literal, DType wanted);

class ExprParser {
 public:
  ExprParser(std::shared_ptr<const SourceFile> file, std::uint32_t begin)
      : lexer_(std::move(file), begin) {}

  // Names of variables and buffers that can be used from here on. An inner definition hides an
  // outer one of the same name until `leave`.
  void define(std::string_view name, const Expr& var) { add({std::string(name), var, {}}); }
  void define(std::string_view name, const Buffer& buffer) { add({std::string(name), {}, buffer}); }
  std::size_t enter() const { return names_.size(); }
  void leave(std::size_t mark);

  Result<Expr> expr(int loosest = kLoosest);
  Result<std::vector<Expr>> exprs_until(std::string_view close);  // takes `close` as well
  Result<Buffer> buffer();                                        // a name
  Result<void> expect(std::string_view text);
  Result<Token> expect_name(std::string_view what);
  Result<std::string> string();
  Result<DType> dtype_string();
  Result<std::int64_t> integer();  // with an optional minus
  bool accept(std::string_view text);
  Unexpected<Diagnostics> unexpected(std::string_view wanted) const;

  Lexer& lexer() { return lexer_; }

 protected:
  Result<Expr> named(const Token& name);  // what begins with this name, which is taken
  Result<Expr> number(const Token& token, bool negative, DType dtype);

 private:
  struct Named {
    std::string name;
    Expr var;
    Buffer buffer;
  };
  void add(Named named);
  const Named* find(std::string_view name) const;
  Result<Expr> operand();
  Result<Expr> negative();
  Result<Expr> atom();
  Result<Expr> script_call(const Token& name);
  Result<Expr> literal_or_cast(const Token& name, DType dtype);
  Result<Expr> vector(const Token& name);
  Result<Expr> explicit_call();
  Result<Expr> intrinsic(const Token& name);
  Result<std::optional<Expr>> literal(DType dtype);
  Result<Expr> infix(ExprKind kind, Expr a, Expr b, const Token& where);

  Lexer lexer_;
  std::vector<Named> names_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> by_name_;  // the innermost last
  int depth_ = 0;
  int height_ = 0;  // of what has been read of the expression around
};

}  // namespace tessera::tir
