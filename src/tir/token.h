// SPDX-License-Identifier: Apache-2.0
// Tokens of the loop IR's text. Comments run from `#` to the end of the line.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "diagnostics/diagnostic.h"

namespace tessera::tir {

enum class TokenKind : std::uint8_t { kName, kInt, kFloat, kString, kPunct, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // of a string: with quotes; of a name: with its dots, `T.serial`
  std::uint32_t begin = 0, end = 0;
  bool first_in_line = false;
  std::uint32_t column = 1;
};

class Lexer {
 public:
  Lexer(std::shared_ptr<const SourceFile> file, std::uint32_t begin);
  const Token& peek() const { return token_; }
  Token take();
  bool next_is(std::string_view text) const;
  Location at(const Token& token) const { return file_location(file_, token.begin, token.end); }

 private:
  void advance();
  void skip_blanks();
  std::uint32_t end_of_token() const;

  std::shared_ptr<const SourceFile> file_;
  std::string_view text_;
  std::uint32_t position_ = 0, line_begin_ = 0;
  bool line_is_fresh_ = true;  // no token since the last newline
  Token token_;
};

// The text inside the quotes, escapes replaced; nothing if it is not closed or an escape is
// unknown.
std::optional<std::string> unquoted(std::string_view token);

}  // namespace tessera::tir
