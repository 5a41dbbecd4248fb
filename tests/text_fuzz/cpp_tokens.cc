// SPDX-License-Identifier: Apache-2.0
#include "tests/text_fuzz/cpp_tokens.h"

#include <cctype>
#include <string_view>

namespace tessera::text_fuzz {
namespace {

// Trigraphs, line ends and continued lines.
std::string first_phases(std::string_view source) {
  static constexpr std::string_view kThird = "=/'()!<>-", kMeans = "#\\^[]|{}~";
  std::string plain;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const std::size_t known = source.substr(i, 2) ==
                                          "?"
                                          "?" &&
                                      i + 2 < source.size()
                                  ? kThird.find(source[i + 2])
                                  : kThird.npos;
    const char c = source[i] == '\r' ? '\n' : source[i];
    plain += known == kThird.npos ? c : kMeans[known];
    if (known != kThird.npos) i += 2;
  }
  std::string out;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (plain[i] == '\\') {
      const std::size_t next = plain.find_first_not_of(" \t\v\f", i + 1);
      if (next != plain.npos && plain[next] == '\n') {
        i = next;
        continue;
      }
    }
    out += plain[i];
  }
  return out;
}

bool is_name_char(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || c == '$' || byte >= 0x80;
}

class Reader {
 public:
  explicit Reader(std::string text) : text_(std::move(text)) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) step();
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void step() {
    const char c = peek();
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at_;
    } else if (c == '/' && peek(1) == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '/' && peek(1) == '*') {
      const std::size_t end = text_.find("*/", at_ + 2);
      at_ = end == text_.npos ? text_.size() : end + 2;
    } else if (c == '"') {
      string();
    } else if (c == '\'') {
      out_.push_back({TokenKind::kCharacter, quoted('\'')});
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      number();
    } else if (is_name_char(c)) {
      const std::size_t begin = at_;
      while (is_name_char(peek())) ++at_;
      out_.push_back({TokenKind::kName, text_.substr(begin, at_ - begin)});
    } else {
      out_.push_back({TokenKind::kPunctuation, std::string(1, c)});
      ++at_;
    }
  }

  void string() {
    std::string value = quoted('"');
    const bool continues = !out_.empty() && out_.back().kind == TokenKind::kString;
    continues ? void(out_.back().text += value) : out_.push_back({TokenKind::kString, value});
  }

  // The value of what stands in quotes; a line's end closes it, as it does for a compiler's error.
  std::string quoted(char mark) {
    std::string value;
    for (++at_; at_ < text_.size() && peek() != mark; ++at_) {
      if (peek() == '\n') return value + "<unclosed>";
      if (peek() != '\\') {
        value += peek();
        continue;
      }
      ++at_;
      value += escaped();
    }
    ++at_;
    return value;
  }

  char escaped() {
    if (peek() < '0' || peek() > '7') return peek() == 'n' ? '\n' : peek();
    int code = 0, digits = 0;
    while (digits < 3 && peek() >= '0' && peek() <= '7') {
      code = code * 8 + (peek() - '0');
      ++at_, ++digits;
    }
    --at_;
    return static_cast<char>(code);
  }

  void number() {
    const std::size_t begin = at_;
    while (is_name_char(peek()) || peek() == '.' ||
           ((peek() == '+' || peek() == '-') &&
            std::string_view("eEpP").find(text_[at_ - 1]) != std::string_view::npos)) {
      ++at_;
    }
    out_.push_back({TokenKind::kNumber, text_.substr(begin, at_ - begin)});
  }

  std::string text_;
  std::size_t at_ = 0;
  std::vector<Token> out_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) { return Reader(first_phases(source)).run(); }

}  // namespace tessera::text_fuzz
