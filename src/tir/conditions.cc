// SPDX-License-Identifier: Apache-2.0
#include "tir/conditions.h"

namespace tessera::tir {

std::vector<std::string> sentence_pieces(std::string_view sentence) {
  std::vector<std::string> pieces(1);
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    const std::string_view two = sentence.substr(i, 2);
    if (two == "{}") {
      pieces.emplace_back();
    } else {
      pieces.back() += sentence[i];
    }
    if (two == "{}" || two == "{{" || two == "}}") ++i;
  }
  return pieces;
}

std::string quoted_in_sentence(std::string_view text) {
  std::string quoted;
  for (const char c : text) quoted.append(c == '{' || c == '}' ? 2 : 1, c);
  return quoted;
}

}  // namespace tessera::tir
