// SPDX-License-Identifier: Apache-2.0
// Tokens of Relay text (relay-spec 1.8.1), made on demand.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>

namespace tessera::relay {

enum class TokenKind : std::uint8_t {
  kEnd,
  kWord,    // identifier or keyword; dots between words are tokens of their own
  kLocal,   // %x
  kGraph,   // %12
  kGlobal,  // @main, @"..."
  kNumber,  // with sign and suffix: -1.5f16
  kString,  // with quotes
  kMeta,    // meta[key][index]
  kPragma,  // #[...]
  kPunct,   // ( ) { } [ ] , ; : . = + - * / < > ? | -> => == != <= >=
  kBad,     // something that no token begins with, or an unclosed string or comment
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::uint32_t begin = 0, end = 0;  // byte offsets
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  // The k-th token from here on.
  const Token& peek(std::size_t k = 0);
  Token take();
  // Goes on at another offset. Tokens that were looked at are forgotten.
  void seek(std::uint32_t offset);
  std::string_view text(const Token& t) const { return text_.substr(t.begin, t.end - t.begin); }
  std::string_view source() const { return text_; }

 private:
  Token make();
  bool skip_blanks();
  bool skip_comment();
  TokenKind scan(std::uint32_t& p) const;
  TokenKind scan_sigil(std::uint32_t& p) const;
  TokenKind scan_number(std::uint32_t& p) const;
  TokenKind scan_string(std::uint32_t& p) const;
  TokenKind scan_bracketed(std::uint32_t& p, TokenKind kind, int groups) const;
  bool is_sign(std::uint32_t p) const;
  void skip_word(std::uint32_t& p) const;
  char at(std::uint32_t p) const { return p < text_.size() ? text_[p] : '\0'; }

  std::string_view text_;
  std::uint32_t position_ = 0;
  Token last_;  // the token before position_
  std::deque<Token> ahead_;
};

}  // namespace tessera::relay
