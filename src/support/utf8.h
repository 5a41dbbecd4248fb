// SPDX-License-Identifier: Apache-2.0
// Characters of UTF-8 in text that may be none.
#pragma once

#include <cstddef>
#include <string_view>

namespace tessera {

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: what stands there is no character
};

// The one that the text begins with. Overlong forms, surrogates and what lies beyond Unicode are
// no characters. The text is not empty.
Utf8Character first_character(std::string_view text);

}  // namespace tessera
