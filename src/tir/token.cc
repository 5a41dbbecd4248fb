// SPDX-License-Identifier: Apache-2.0
#include "tir/token.h"

#include <charconv>
#include <optional>

namespace tessera::tir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// The length of `2`, `2.5`, `1e-05`; sets whether it is a float.
std::size_t number_length(std::string_view text, bool& is_float) {
  std::size_t n = 0;
  const auto digits = [&] {
    while (n < text.size() && is_digit(text[n])) ++n;
  };
  digits();
  if (n + 1 < text.size() && text[n] == '.' && is_digit(text[n + 1])) {
    is_float = true;
    ++n;
    digits();
  }
  if (n < text.size() && (text[n] == 'e' || text[n] == 'E')) {
    std::size_t exponent = n + 1;
    if (exponent < text.size() && (text[exponent] == '-' || text[exponent] == '+')) ++exponent;
    if (exponent < text.size() && is_digit(text[exponent])) {
      is_float = true;
      n = exponent;
      digits();
    }
  }
  return n;
}

std::size_t name_length(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size()) {
    const bool dot = text[n] == '.' && n + 1 < text.size() && is_letter(text[n + 1]);
    if (!dot && !is_letter(text[n]) && !is_digit(text[n])) break;
    ++n;
  }
  return n;
}

std::size_t string_length(std::string_view text) {
  for (std::size_t n = 1; n < text.size() && text[n] != '\n'; ++n) {
    if (text[n] == '"') return n + 1;
    if (text[n] == '\\') ++n;
  }
  return 1;  // not closed: `unquoted` says so
}

}  // namespace

Lexer::Lexer(std::shared_ptr<const SourceFile> file, std::uint32_t begin)
    : file_(std::move(file)), text_(file_->text), position_(begin) {
  line_begin_ = begin - (file_->position(begin).column - 1);
  for (std::uint32_t i = line_begin_; i < begin; ++i) line_is_fresh_ &= text_[i] == ' ';
  advance();
}

void Lexer::skip_blanks() {
  for (; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (c == '\n') {
      line_begin_ = position_ + 1;
      line_is_fresh_ = true;
    } else if (c == '#') {
      while (position_ + 1 < text_.size() && text_[position_ + 1] != '\n') ++position_;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

void Lexer::advance() {
  skip_blanks();
  token_ = {};
  token_.begin = token_.end = position_;
  token_.first_in_line = line_is_fresh_;
  token_.column = position_ - line_begin_ + 1;
  if (position_ >= text_.size()) return;
  line_is_fresh_ = false;
  const std::string_view rest = text_.substr(position_);
  std::size_t length = 1;
  token_.kind = TokenKind::kPunct;
  if (is_digit(rest[0])) {
    bool is_float = false;
    length = number_length(rest, is_float);
    token_.kind = is_float ? TokenKind::kFloat : TokenKind::kInt;
  } else if (is_letter(rest[0])) {
    length = name_length(rest);
    token_.kind = TokenKind::kName;
  } else if (rest[0] == '"') {
    length = string_length(rest);
    token_.kind = TokenKind::kString;
  } else {
    for (const std::string_view pair : {"//", "==", "!=", "<=", ">="}) {
      if (rest.starts_with(pair)) length = 2;
    }
  }
  token_.text = rest.substr(0, length);
  position_ += static_cast<std::uint32_t>(length);
  token_.end = position_;
}

Token Lexer::take() {
  const Token taken = token_;
  if (taken.kind != TokenKind::kEnd) advance();
  return taken;
}

bool Lexer::next_is(std::string_view text) const {
  return token_.text == text && token_.kind != TokenKind::kString;
}

std::optional<std::string> unquoted(std::string_view token) {
  if (token.size() < 2 || token.back() != '"') return std::nullopt;
  const std::string_view body = token.substr(1, token.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      out += body[i];
      continue;
    }
    if (++i == body.size()) return std::nullopt;
    if (body[i] == 'n') {
      out += '\n';
    } else if (body[i] == 't') {
      out += '\t';
    } else if (body[i] == 'r') {
      out += '\r';
    } else if (body[i] == '"' || body[i] == '\\') {
      out += body[i];
    } else if (body[i] == 'x' && i + 2 < body.size()) {
      unsigned char code = 0;
      const auto [end, problem] = std::from_chars(&body[i + 1], &body[i + 1] + 2, code, 16);
      if (problem != std::errc() || end != &body[i + 1] + 2) return std::nullopt;
      out += static_cast<char>(code);
      i += 2;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace tessera::tir
