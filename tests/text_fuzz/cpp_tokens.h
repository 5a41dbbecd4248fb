// SPDX-License-Identifier: Apache-2.0
// What a compiler sees of a C++ source, read by rules of the language and none of the emitters'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::text_fuzz {

enum class TokenKind { kName, kNumber, kString, kCharacter, kPunctuation };

struct Token {
  TokenKind kind;
  std::string text;  // of a string: its value, with those that follow it directly
  bool operator==(const Token&) const = default;
};

// Without comments. As the most credulous compiler reads it: trigraphs count, a carriage return
// ends a line, and a backslash continues one with blanks after it, too.
std::vector<Token> tokens_of(std::string_view source);

}  // namespace tessera::text_fuzz
