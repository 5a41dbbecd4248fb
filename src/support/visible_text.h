// SPDX-License-Identifier: Apache-2.0
// Text of models, libraries, files and other programs on its way to people: in a terminal, a
// comment, a message.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// Does the character only move, hide or turn round what stands beside it? Control characters, line
// and paragraph separators, marks of direction, and others without a shape.
bool is_invisible(char32_t code);

// The text with what is_invisible, and bytes that are no UTF-8, written as `\x1b` and `\u202e`; the
// rest stays. What terminals take for commands is among these, so it reaches none.
std::string visible(std::string_view text);
// The same for whole pages: line ends and tabs stay.
std::string visible_lines(std::string_view text);

}  // namespace tessera
