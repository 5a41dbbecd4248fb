// SPDX-License-Identifier: Apache-2.0
#include "relay/text/lexer.h"

#include "relay/words.h"

namespace tessera::relay {

const Token& Lexer::peek(std::size_t k) {
  while (ahead_.size() <= k) {
    last_ = make();
    position_ = last_.end;
    ahead_.push_back(last_);
  }
  return ahead_[k];
}

Token Lexer::take() {
  const Token t = peek();
  ahead_.pop_front();
  return t;
}

void Lexer::seek(std::uint32_t offset) {
  ahead_.clear();
  position_ = offset;
  last_ = {};
}

Token Lexer::make() {
  Token t;
  const bool closed = skip_blanks();
  t.begin = t.end = position_;
  if (!closed) {
    t.kind = TokenKind::kBad;
    t.end = static_cast<std::uint32_t>(text_.size());
  } else if (position_ < text_.size()) {
    t.kind = scan(t.end);
    if (t.end == t.begin) ++t.end;
  }
  return t;
}

// False if a comment is not closed.
bool Lexer::skip_blanks() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++position_;
    } else if (c == '/' && at(position_ + 1) == '/') {
      const auto end = text_.find('\n', position_);
      position_ = static_cast<std::uint32_t>(end == std::string_view::npos ? text_.size() : end);
    } else if (c == '/' && at(position_ + 1) == '*') {
      if (!skip_comment()) return false;
    } else {
      return true;
    }
  }
  return true;
}

// Comments nest.
bool Lexer::skip_comment() {
  int depth = 0;
  for (std::uint32_t p = position_; p + 1 < text_.size(); ++p) {
    if (text_[p] == '/' && text_[p + 1] == '*') {
      ++depth, ++p;
    } else if (text_[p] == '*' && text_[p + 1] == '/') {
      ++p;
      if (--depth == 0) {
        position_ = p + 1;
        return true;
      }
    }
  }
  return false;
}

TokenKind Lexer::scan(std::uint32_t& p) const {
  const char c = at(p);
  if (c == '%' || c == '@') return scan_sigil(p);
  if (is_digit(c) || is_sign(p)) return scan_number(p);
  if (c == '"') return scan_string(p);
  if (c == '#' && at(p + 1) == '[') return scan_bracketed(p, TokenKind::kPragma, 1);
  if (is_identifier_start(c) && c != '/') {
    const std::uint32_t begin = p;
    skip_word(p);
    if (text_.substr(begin, p - begin) == "meta" && at(p) == '[') {
      return scan_bracketed(p, TokenKind::kMeta, 2);
    }
    return TokenKind::kWord;
  }
  for (const std::string_view two : {"->", "=>", "==", "!=", "<=", ">="}) {
    if (text_.substr(p, 2) == two) return p += 2, TokenKind::kPunct;
  }
  if (c != '\0' && std::string_view("(){}[],;:.=+-*/<>?|").find(c) != std::string_view::npos) {
    return ++p, TokenKind::kPunct;
  }
  return TokenKind::kBad;
}

void Lexer::skip_word(std::uint32_t& p) const {
  while (is_identifier_char(at(p))) ++p;
}

TokenKind Lexer::scan_sigil(std::uint32_t& p) const {
  const bool global = at(p++) == '@';
  const TokenKind named = global ? TokenKind::kGlobal : TokenKind::kLocal;
  if (at(p) == '"') return scan_string(p) == TokenKind::kString ? named : TokenKind::kBad;
  if (is_identifier_start(at(p))) return skip_word(p), named;
  if (global || !is_digit(at(p))) return TokenKind::kBad;
  while (is_digit(at(p))) ++p;
  return TokenKind::kGraph;
}

// A minus sign belongs to the number after it unless there is an operand to its left.
bool Lexer::is_sign(std::uint32_t p) const {
  if (at(p) != '-') return false;
  while (at(p) == '-') ++p;
  if (!is_digit(at(p))) return false;
  switch (last_.kind) {
    case TokenKind::kLocal:
    case TokenKind::kGraph:
    case TokenKind::kGlobal:
    case TokenKind::kNumber:
    case TokenKind::kMeta:
      return false;
    case TokenKind::kPunct:
      return text(last_) != ")" && text(last_) != "}";
    case TokenKind::kWord:
      return text(last_) != "True" && text(last_) != "False";
    case TokenKind::kEnd:
    case TokenKind::kString:
    case TokenKind::kPragma:
    case TokenKind::kBad:
      break;
  }
  return true;
}

TokenKind Lexer::scan_number(std::uint32_t& p) const {
  while (at(p) == '-') ++p;
  while (is_digit(at(p))) ++p;
  if (last_.kind == TokenKind::kPunct && text(last_) == ".") return TokenKind::kNumber;  // %0.0.1
  if (at(p) == '.') {
    ++p;
    while (is_digit(at(p))) ++p;
  }
  if (at(p) == 'e' || at(p) == 'E') {
    std::uint32_t q = p + 1;
    if (at(q) == '+' || at(q) == '-') ++q;
    if (is_digit(at(q))) {
      p = q;
      while (is_digit(at(p))) ++p;
    }
  }
  while (is_letter(at(p)) || is_digit(at(p))) ++p;  // the suffix
  return TokenKind::kNumber;
}

TokenKind Lexer::scan_string(std::uint32_t& p) const {
  for (++p; p < text_.size(); ++p) {
    if (text_[p] == '"') return ++p, TokenKind::kString;
    if (text_[p] == '\\') ++p;
  }
  p = static_cast<std::uint32_t>(text_.size());
  return TokenKind::kBad;
}

// Up to the closing bracket, `groups` times; quotes hide brackets.
TokenKind Lexer::scan_bracketed(std::uint32_t& p, TokenKind kind, int groups) const {
  for (bool quoted = false; p < text_.size() && text_[p] != '\n'; ++p) {
    if (text_[p] == '"') quoted = !quoted;
    if (text_[p] != ']' || quoted) continue;
    if (--groups == 0) return ++p, kind;
    if (at(p + 1) != '[') break;
  }
  return TokenKind::kBad;
}

}  // namespace tessera::relay
